// Lines along a dimension: one element of each by index, the index of the largest, and how threads share
// lines.
//
// A block of lines has the shape [outer][along][inner]. An index counts from `first`: a process that holds
// elements first ... first + along - 1 of a split dimension works on those, and contributes 0 for the others.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <meshtf/kernel/gather.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/rows.hpp>
#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// z[o][i] = x[o][index[o][i] - first][i], or 0 where that is out of range. With `all_here`, every index is
/// in range.
template<Element T>
void pick(line_steps const& s, extent first, T const* x, std::int32_t const* index, computed<T>* z,
          bool all_here = false) {
  // (The step differs from 1 if there is storage for several neighbouring lines, of which this process holds
  // one.)
  if (s.inner == 1 && s.step == 1 && s.line_stride == 1 && all_here) {
    for (extent o = 0; o < s.outer; ++o)
      z[o] = static_cast<computed<T>>(x[o * s.outer_stride + index[o] - first]);
    return;
  }
  for (extent o = 0; o < s.outer; ++o, x += s.outer_stride, index += s.line_stride, z += s.line_stride)
    for (extent i = 0; i < s.inner; ++i) {
      extent const position = index[i] - first;
      z[i] = position >= 0 && position < s.along ? static_cast<computed<T>>(x[position * s.step + i])
                                                 : computed<T>{};
    }
}

/// dx[o][index[o][i] - first][i] += scale * dz[o][i] where that is in range.
template<Element T>
void pick_gradient(line_steps const& s, extent first, T scale, T const* dz, std::int32_t const* index,
                   T* dx) {
  extent const along = s.along;
  extent const lines = s.line_stride;
  if (s.inner == 1 && s.step == 1 && lines == 1) {
    extent const outer = s.outer;
    extent const apart = s.outer_stride;
    for (extent o = 0; o < outer; ++o)
      if (extent const position = index[o] - first;
          static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(along))
        dx[o * apart + position] += scale * dz[o];
    return;
  }
  for (extent o = 0; o < s.outer; ++o, dx += s.outer_stride, index += lines, dz += lines)
    for (extent i = 0; i < s.inner; ++i) {
      extent const position = index[i] - first;
      if (position >= 0 && position < along) dx[position * s.step + i] += scale * dz[i];
    }
}

/// dx[o][index[o][i] - first][i] = f(x there, y[o][i], dz[o][i]) + scale * dz[o][i] where that is in range.
template<class F, NarrowElement T>
void set_picked(line_steps const& s, extent first, F const& f, computed<T> scale, T const* x,
                computed<T> const* y, computed<T> const* dz, std::int32_t const* index, T* dx) {
  for (extent o = 0; o < s.outer; ++o)
    for (extent i = 0; i < s.inner; ++i) {
      extent const line     = o * s.line_stride + i;
      extent const position = index[line] - first;
      extent const to       = o * s.outer_stride + position * s.step + i;
      if (position >= 0 && position < s.along)
        dx[to] = static_cast<T>(f(static_cast<computed<T>>(x[to]), y[line], dz[line]) + scale * dz[line]);
    }
}

namespace detail {

/// The first lane in which `hits` is true; at least the number of lanes if there is none.
inline int first_hit(bool hits) { return hits ? 0 : 1; }
template<class Hits>
int first_hit(Hits const& hits) {
  if constexpr (requires { hits.mask(); }) return std::countr_zero(hits.mask());  // since xsimd 9
  else if constexpr (requires { std::uint64_t{hits.data}; })
    return std::countr_zero(std::uint64_t{hits.data});  // one bit for each lane
  else {
    std::array<bool, Hits::size> lane;
    hits.store_unaligned(lane.data());
    return static_cast<int>(std::find(lane.begin(), lane.end(), true) - lane.begin());
  }
}

/// The index of the first of `n` elements for which `is` holds; n or more if there is none.
template<class Lanes, class T, class F>
extent first_of_row(extent n, T const* x, F const& is) {
  extent i = 0;
  for (; i + Lanes::width < n; i += Lanes::width)
    if (int const lane = first_hit(is(Lanes::load(x + i))); lane < Lanes::width) return i + lane;
  return i + first_hit(is(load_first<Lanes>(x + i, n - i)));  // the remaining lanes repeat the first one
}

/// Every lane gets the largest lane's value. No lane may be NaN.
template<class Lanes, class T>
typename Lanes::batch largest_lane(typename Lanes::batch x) {
  using std::max;
  unrolled<std::bit_width(static_cast<unsigned>(Lanes::width)) - 1>([&](auto) __attribute__((always_inline)) {
    x = max(interleaved<false, Lanes, T>(x, x), interleaved<true, Lanes, T>(x, x));
  });
  return x;
}

}  // namespace detail

/// The largest element along the dimension and the first index that has it, counted from `first`. NaN counts
/// as larger than any number.
template<Element T, class Arch = default_arch>
void argmax(line_steps const& s, extent first, T const* x, T* best, std::int32_t* where) {
  extent const along = s.along;
  extent const inner = s.inner;
  if (inner == 1 && s.step == 1) {
    using lanes = kernel::lanes<T, Arch>;
    for (extent o = 0; o < s.outer; ++o, x += s.outer_stride, best += s.line_stride, where += s.line_stride) {
      using std::max;
      auto largest = detail::load_first<lanes>(x, std::min<extent>(along, lanes::width));
      auto unknown = !(largest == largest);  // not most != most, which older xsimd finds false for NaN
      for (extent a = lanes::width; a < along; a += lanes::width) {
        auto const v =
            a + lanes::width <= along ? lanes::load(x + a) : detail::load_first<lanes>(x + a, along - a);
        largest = max(largest, v);
        unknown = unknown | !(v == v);
      }
      extent position;
      if (detail::first_hit(unknown) < lanes::width) {
        position = detail::first_of_row<lanes>(along, x, [](auto const& v) { return !(v == v); });
      } else {
        largest  = detail::largest_lane<lanes, T>(largest);
        position = detail::first_of_row<lanes>(along, x, [&](auto const& v) { return v == largest; });
      }
      *best  = x[position];
      *where = static_cast<std::int32_t>(first + position);
    }
    return;
  }
  for (extent o = 0; o < s.outer; ++o, x += s.outer_stride, best += s.line_stride, where += s.line_stride) {
    for (extent i = 0; i < inner; ++i) {
      best[i]  = x[i];
      where[i] = static_cast<std::int32_t>(first);
    }
    for (extent a = 1; a < along; ++a) {
      T const* const row = x + a * s.step;
      for (extent i = 0; i < inner; ++i)
        if (best[i] == best[i] && !(row[i] <= best[i])) {
          best[i]  = row[i];
          where[i] = static_cast<std::int32_t>(first + a);
        }
    }
  }
}

/// f(lines, offset, number) for parts of a block of lines, which threads share: where the elements and the
/// numbers of the part's lines begin. Each line has the same result in any part, so one thread takes them all
/// at once, and reads memory in its order.
template<class F>
void for_some_lines(line_steps const& s, F const& f) {
  if (thread_count() == 1) return f(s, extent{0}, extent{0});
  bool const columns = s.outer < max_parts && s.inner >= s.outer;
  parallel_for(columns ? s.inner : s.outer, columns ? 64 : 1, s.outer * s.along * s.inner,
               [&](extent begin, extent end) {
                 auto part                           = s;
                 (columns ? part.inner : part.outer) = end - begin;
                 f(part, begin * (columns ? 1 : s.outer_stride), begin * (columns ? 1 : s.line_stride));
               });
}

}  // namespace kernel

namespace task {

template<Element T>
void pick<T>::compute(line_steps const& s, place_in_mesh const& here, T const* x, std::int32_t const* index,
                      computed<T>* z) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::expect_inside({s.outer, s.inner, s.line_stride}, start[1], index, s.global,
                          {"target", "a class", "labels"});
    kernel::pick(s, s.first(here), x + start[0], index + start[1], z + start[1], s.along == s.global);
  });
}
template<Element T>
void pick_gradient<T>::compute(line_steps const& s, place_in_mesh const& here, T const* dz,
                               std::int32_t const* index, T* dx) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::pick_gradient(s, s.first(here), scale, dz + start[1], index + start[1], dx + start[0]);
  });
}
template<class F, NarrowElement T>
void set_picked<F, T>::compute(line_steps const& s, place_in_mesh const& here, T const* x,
                               computed<T> const* y, computed<T> const* dz, std::int32_t const* index,
                               T* dx) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::set_picked(s, s.first(here), f, scale, x + start[0], y + start[1], dz + start[1],
                       index + start[1], dx + start[0]);
  });
}
template<Element T>
void argmax<T>::compute(line_steps const& s, place_in_mesh const& here, T const* x, T* best,
                        std::int32_t* where) const {
  // a process without elements loses to all others, or to the first process if they have nothing better
  if (s.along == 0) {
    std::fill_n(best, s.allocated_lines, kernel::detail::neutral<reduction::max, T>);
    std::fill_n(where, s.allocated_lines, std::numeric_limits<std::int32_t>::max());
    return;
  }
  s.blocks.for_each([&](auto const& start) {
    kernel::for_some_lines(s, [&](line_steps const& some, extent offset, extent number) {
      kernel::argmax(some, s.first(here), x + start[0] + offset, best + start[1] + number,
                     where + start[1] + number);
    });
  });
}
template<Element T>
void forget_smaller<T>::compute(shard_steps const& s, place_in_mesh const&, T const* best, T const* peak,
                                std::int32_t* where) const {
  for (extent i = 0; i < s.elements; ++i)
    if (best[i] < peak[i] || (peak[i] != peak[i] && best[i] == best[i]))
      where[i] = std::numeric_limits<std::int32_t>::max();
}

#define MESHTF_PICK(T) template struct pick<T>;
MESHTF_COMPILE_FLOATING(MESHTF_PICK)
#undef MESHTF_PICK
#define MESHTF_PICK_GRADIENT(T) template struct pick_gradient<T>;
MESHTF_COMPILE_WIDE(MESHTF_PICK_GRADIENT)
#undef MESHTF_PICK_GRADIENT

#define MESHTF_ARGMAX(T)     \
  template struct argmax<T>; \
  template struct forget_smaller<T>;
MESHTF_COMPILE_NUMBERS(MESHTF_ARGMAX)
#undef MESHTF_ARGMAX

}  // namespace task
}  // namespace v0
}  // namespace meshtf
