// Running sums and products along a dimension, whole or split, and the backward pass of the products.
//
// A block of lines has the shape [outer][along][inner]. Where the dimension is split, a process goes on from
// what the processes before it have.
#pragma once

#include <algorithm>
#include <array>

#include <meshtf/kernel/lines.hpp>
#include <meshtf/plan/cumsum_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Neighbouring lines that go together along the dimension, so that memory is read in its order, and what is
/// kept for each of them stays in cache.
inline constexpr extent lines_together = 4096;

/// Lines without neighbours that go together: each sum waits for the one before it, and those of other lines
/// fill the time.
inline constexpr extent rows_together = 4;

/// What is kept for each line of a group: in registers, if the number of lines is known.
template<class Sum, class Lines>
struct kept_for_lines : std::array<Sum, std::size_t{lines_together}> {};
template<class Sum, extent N>
struct kept_for_lines<Sum, std::integral_constant<extent, N>> : std::array<Sum, std::size_t{N}> {};

/// A group of lines: where the first element of the first one is and its number, and how far the next line is
/// from it, in elements and in numbers.
template<class Apart>
struct line_group {
  extent first  = 0;
  extent number = 0;
  Apart apart{};
  extent numbers_apart = 1;

  constexpr extent number_of(extent line) const { return number + line * numbers_apart; }
};

/// f(group, number of lines) for groups of lines. The number is a type where it is small.
template<class F>
void for_neighbouring_lines(line_steps const& s, F const& f) {
  if (s.inner == 1) {
    extent o            = 0;
    auto const together = [&](auto rows) {
      for (; o + rows <= s.outer; o += rows)
        f(line_group<extent>{o * s.outer_stride, o * s.line_stride, s.outer_stride, s.line_stride}, rows);
    };
    together(std::integral_constant<extent, rows_together>{});
    together(std::integral_constant<extent, 1>{});
    return;
  }
  for (extent o = 0; o < s.outer; ++o)
    for (extent i = 0; i < s.inner; i += lines_together)
      f(line_group<std::integral_constant<extent, 1>>{o * s.outer_stride + i, o * s.line_stride + i},
        std::min(lines_together, s.inner - i));
}

/// Joins `total` and an element.
template<reduction Op, class Sum, class T>
void join_element(Sum& total, T x) {
  if constexpr (Op == reduction::sum) total += static_cast<Sum>(x);
  else total *= static_cast<Sum>(x);
}

/// Running sums or products along the dimension, from its first element or, in `reverse`, from its last. They
/// go on from `before`, if it is there.
template<reduction Op, bool Exclusive, Element T>
void run_along(line_steps const& s, bool reverse, T const* x, T* z, T const* before = nullptr) {
  using sums        = typename element_traits<T>::sums_in;
  extent const step = reverse ? -s.step : s.step;
  for_neighbouring_lines(s, [&](auto const& group, auto lines) {
    kept_for_lines<sums, decltype(lines)> total;
    constexpr sums neutral(Op == reduction::sum ? 0 : 1);
    for (extent i = 0; i < lines; ++i)
      total[static_cast<std::size_t>(i)] =
          before != nullptr ? static_cast<sums>(before[group.number_of(i)]) : neutral;
    for (extent a = 0, from = group.first + (reverse ? (s.along - 1) * s.step : 0); a < s.along;
         ++a, from += step)
      for (extent i = 0; i < lines; ++i) {
        extent const position = from + i * group.apart;
        auto& so_far          = total[static_cast<std::size_t>(i)];
        if constexpr (Exclusive) z[position] = static_cast<T>(so_far);
        join_element<Op>(so_far, x[position]);
        if constexpr (!Exclusive) z[position] = static_cast<T>(so_far);
      }
  });
}

/// dx from x and dz, where z are the running products of x: from those `before`, and with what comes from the
/// elements `after` these.
template<bool Exclusive, Element T>
void cumprod_gradient(line_steps const& s, bool reverse, T const* x, T const* dz, T* dx,
                      T const* before = nullptr, T const* after = nullptr) {
  using sums = typename element_traits<T>::sums_in;
  run_along<reduction::product, true>(s, reverse, x, dx, before);
  extent const step = reverse ? s.step : -s.step;
  for_neighbouring_lines(s, [&](auto const& group, auto lines) {
    // what comes from the elements whose products contain this one
    kept_for_lines<sums, decltype(lines)> later;
    for (extent i = 0; i < lines; ++i)
      later[static_cast<std::size_t>(i)] =
          after != nullptr ? static_cast<sums>(after[group.number_of(i)]) : sums(0);
    for (extent a = 0, from = group.first + (reverse ? 0 : (s.along - 1) * s.step); a < s.along;
         ++a, from += step)
      for (extent i = 0; i < lines; ++i) {
        extent const position = from + i * group.apart;
        auto& c               = later[static_cast<std::size_t>(i)];
        sums const element    = static_cast<sums>(x[position]);
        sums const own        = static_cast<sums>(dz[position]);
        if constexpr (Exclusive) {
          dx[position] = static_cast<T>(static_cast<sums>(dx[position]) * c);
          c            = own + element * c;
        } else {
          sums const with = own + c;
          dx[position]    = static_cast<T>(static_cast<sums>(dx[position]) * with);
          c               = element * with;
        }
      }
  });
}

/// For each line, what the gradient's recurrence multiplies by on its way through, and what it adds.
template<bool Exclusive, Element T>
void fold_products(line_steps const& s, bool reverse, T const* x, T const* dz, T* factor, T* addend) {
  using sums        = typename element_traits<T>::sums_in;
  extent const step = reverse ? s.step : -s.step;
  for_neighbouring_lines(s, [&](auto const& group, auto lines) {
    for (extent i = 0; i < lines; ++i) {
      sums f = 1;
      sums c = 0;
      for (extent a = 0, position = group.first + i * group.apart + (reverse ? 0 : (s.along - 1) * s.step);
           a < s.along; ++a, position += step) {
        sums const element = static_cast<sums>(x[position]);
        sums const own     = static_cast<sums>(dz[position]);
        c                  = Exclusive ? own + element * c : element * (own + c);
        f *= element;
      }
      factor[group.number_of(i)] = static_cast<T>(f);
      addend[group.number_of(i)] = static_cast<T>(c);
    }
  });
}

}  // namespace kernel

namespace task {

template<reduction Op, Element T>
void run_along<Op, T>::compute(cumsum_steps const& s, place_in_mesh const&, T const* x, T* z) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s.lines, [&](line_steps const& some, extent offset, extent) {
      if (exclusive) kernel::run_along<Op, true>(some, reverse, x + start[0] + offset, z + start[0] + offset);
      else kernel::run_along<Op, false>(some, reverse, x + start[0] + offset, z + start[0] + offset);
    });
  });
}
template<Element T>
void cumprod_gradient<T>::compute(cumsum_steps const& s, place_in_mesh const&, T const* x, T const* dz,
                                  T* dx) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s.lines, [&](line_steps const& some, extent offset, extent) {
      extent const from = start[0] + offset;
      if (exclusive) kernel::cumprod_gradient<true>(some, reverse, x + from, dz + from, dx + from);
      else kernel::cumprod_gradient<false>(some, reverse, x + from, dz + from, dx + from);
    });
  });
}

template<reduction Op, Element T>
void run_on<Op, T>::compute(cumsum_steps const& s, place_in_mesh const&, T const* x, T const* before,
                            T* z) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s.lines, [&](line_steps const& some, extent offset, extent number) {
      extent const from = start[0] + offset;
      if (exclusive)
        kernel::run_along<Op, true>(some, reverse, x + from, z + from, before + start[1] + number);
      else kernel::run_along<Op, false>(some, reverse, x + from, z + from, before + start[1] + number);
    });
  });
}
template<Element T>
void fold_products<T>::compute(cumsum_steps const& s, place_in_mesh const&, T const* x, T const* dz,
                               T* folded) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s.lines, [&](line_steps const& some, extent offset, extent number) {
      extent const from = start[0] + offset;
      T* const factor   = folded + start[1] + number;
      if (exclusive)
        kernel::fold_products<true>(some, reverse, x + from, dz + from, factor,
                                    factor + s.lines.allocated_lines);
      else
        kernel::fold_products<false>(some, reverse, x + from, dz + from, factor,
                                     factor + s.lines.allocated_lines);
    });
  });
}
template<Element T>
void pass_through_parts<T>::compute(cumsum_steps const& s, place_in_mesh const& here, T const* folded,
                                    T* later) const {
  extent const mine = here.part_of(over);
  extent const n    = s.lines.allocated_lines;
  s.lines.blocks.for_each([&](auto const& start) {
    for (extent o = 0; o < s.lines.outer; ++o)
      for (extent i = 0, line = start[1] + o * s.lines.line_stride; i < s.lines.inner; ++i, ++line) {
        typename element_traits<T>::sums_in c = 0;
        for (extent part = reverse ? 0 : s.parts - 1; part != mine; part += reverse ? 1 : -1) {
          T const* const there = folded + 2 * n * rank_of_part(over, part, here.sizes) + line;
          c                    = static_cast<decltype(c)>(there[n]) + static_cast<decltype(c)>(there[0]) * c;
        }
        later[line] = static_cast<T>(c);
      }
  });
}
template<Element T>
void cumprod_gradient_on<T>::compute(cumsum_steps const& s, place_in_mesh const&, T const* x, T const* before,
                                     T const* later, T const* dz, T* dx) const {
  s.lines.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s.lines, [&](line_steps const& some, extent offset, extent number) {
      extent const from = start[0] + offset;
      extent const line = start[1] + number;
      if (exclusive)
        kernel::cumprod_gradient<true>(some, reverse, x + from, dz + from, dx + from, before + line,
                                       later + line);
      else
        kernel::cumprod_gradient<false>(some, reverse, x + from, dz + from, dx + from, before + line,
                                        later + line);
    });
  });
}

#define MESHTF_RUN_ALONG(T)                         \
  template struct run_along<reduction::sum, T>;     \
  template struct run_along<reduction::product, T>; \
  template struct run_on<reduction::sum, T>;        \
  template struct run_on<reduction::product, T>;
MESHTF_COMPILE_NUMBERS(MESHTF_RUN_ALONG)
#undef MESHTF_RUN_ALONG
#define MESHTF_CUMPROD_GRADIENT(T)       \
  template struct cumprod_gradient<T>;   \
  template struct fold_products<T>;      \
  template struct pass_through_parts<T>; \
  template struct cumprod_gradient_on<T>;
MESHTF_COMPILE_WIDE(MESHTF_CUMPROD_GRADIENT)
#undef MESHTF_CUMPROD_GRADIENT

}  // namespace task
}  // namespace v0
}  // namespace meshtf
