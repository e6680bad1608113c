// Loop nests: one functor applied to several arrays, and its results reduced over the loops in which the
// result does not move.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

#include <meshtf/core/function.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/nest_loops.hpp>
#include <meshtf/kernel/rows.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// Whether a map only copies narrow elements, widens or rounds them.
template<class F, class R, class... T>
inline constexpr bool only_converts = false;
template<class R, class T>
inline constexpr bool only_converts<function::identity, R, T> =
    any_narrow<R, T> && std::same_as<computed<R>, computed<T>>;

template<class R, class T>
void convert_row(extent n, R* z, T const* x) {
  if constexpr (!NarrowElement<R>) widen(n, x, z);
  else if constexpr (!NarrowElement<T>) narrow(n, x, z);
  else if (z != x) std::copy_n(x, n, z);
}

/// A piece of a row of narrow elements, widened; other rows are read where they lie.
template<class T>
struct widened_piece {
  T const* operator()(extent, T const* x) { return x; }
};
template<NarrowElement T>
struct widened_piece<T> {
  block_buffer<computed<T>> copy;
  computed<T> const* operator()(extent n, T const* x) {
    widen(n, x, copy.element.data());
    return copy.element.data();
  }
};

/// The functions that copy operands of this type.
template<class Arch>
operand::type const& operand_type(element e) {
  switch (e) {
    case element::float32: return operand_of<Arch, float>;
    case element::float64: return operand_of<Arch, double>;
    case element::int32: return operand_of<Arch, std::int32_t>;
    case element::bfloat16: return operand_of<Arch, bfloat16>;
    case element::int64: return operand_of<Arch, std::int64_t>;
    case element::boolean: return operand_of<Arch, bool>;
  }
  throw "meshtf: this is no element type";
}

inline std::array<operand, max_operands> operands_of(nest_steps const& steps, typed_operand const* x) {
  std::array<operand, max_operands> all{};
  for (std::size_t k = 0; k + 1 < static_cast<std::size_t>(steps.operands); ++k)
    all[k] = {x[k].start, &operand_type<default_arch>(x[k].type)};
  return all;
}

template<Element R>
void map_rows(nest_steps const& steps, bool parallel, typed_operand const* x,
              stored_rows<computed<R>> const& rows, R* z) {
  if (steps.iterations == 0) return;
  auto const operands = operands_of(steps, x);
  if (parallel && steps.iterations >= worth_dividing && thread_count() > 1)
    store_parts<default_arch, true>(steps, false, operands.data(), rows, z);
  else store_blocks<default_arch, true>(steps, false, operands.data(), rows, z);
}

/// `z[i] = f(x[i]...)` for i < n, on the thread that calls it.
template<class Arch, class F, class R, class... T>
void map_some(extent n, F const& f, R* z, T const*... x) {
  if constexpr (only_converts<F, R, T...>) {
    convert_row(n, z, x...);
  } else if constexpr (any_narrow<R, T...>) {
    std::tuple<widened_piece<T>...> pieces;
    block_buffer<computed<R>> values;
    for (extent position = 0; position < n; position += block_elements) {
      extent const some = std::min(n - position, block_elements);
      std::apply(
          [&](widened_piece<T>&... piece) {
            if constexpr (NarrowElement<R>)
              map_some<Arch>(some, f, values.element.data(), piece(some, x + position)...);
            else map_some<Arch>(some, f, z + position, piece(some, x + position)...);
          },
          pieces);
      if constexpr (NarrowElement<R>) narrow(some, values.element.data(), z + position);
    }
  } else if constexpr (in_batches<F, R, T...>) {
    using lanes = kernel::lanes<R, Arch>;
    extent i    = 0;
    for (; i + lanes::width <= n; i += lanes::width) lanes::store(f(lanes::load(x + i)...), z + i);
    if (i < n) store_first<lanes>(f(load_first<lanes>(x + i, n - i)...), z + i, n - i);
  } else {
    plain_loop<Arch>(f, n, z, x...);
  }
}

/// The same on all threads. A function of its own: where a lambda refers to arguments, g++ keeps them in
/// memory, also when there is one short row.
template<class Arch, class F, class R, class... T>
[[gnu::noinline]] void map_parts(extent n, F const& f, R* z, T const*... x) {
  parallel_for(n, block_elements, n,
               [&](extent begin, extent end) { map_some<Arch>(end - begin, f, z + begin, (x + begin)...); });
}

}  // namespace detail

/// z[i] = f(x[i]...) for i < n, for contiguous arrays; z may be one of x.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_row(extent n, F const& f, R* z, T const*... x) {
  if constexpr (ParallelFunction<F>)
    if (n >= worth_dividing && thread_count() > 1) return detail::map_parts<Arch>(n, f, z, x...);
  detail::map_some<Arch>(n, f, z, x...);
}

/// z[...] = f(x...) for each iteration of a nest without a reduction. Its operands are x... and z, in this
/// order. z may be one of x if it has the same strides.
///
/// `F::vectorised` says that f takes batches (simd.hpp). f then gets them whatever the strides are, and an
/// element's bits do not depend on its position.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  if (detail::is_one_row<sizeof...(T) + 1>(steps)) return map_row<Arch>(steps.iterations, f, z, x...);
  std::array const operands{detail::operand{x, &detail::operand_of<Arch, T>}...};
  constexpr bool narrow  = detail::any_narrow<R, T...>;
  constexpr bool batches = detail::in_batches<F, R, T...>;
  detail::stored<Arch, F, computed<R>, computed<T>...> const rows{f};
  if (ParallelFunction<F> && steps.iterations >= worth_dividing && thread_count() > 1)
    detail::store_parts<Arch, narrow>(steps, batches, operands.data(), rows, z);
  else detail::store_blocks<Arch, narrow>(steps, batches, operands.data(), rows, z);
}

/// z = f(x...) joined by `Op` over the loops in which z does not move; with `Accumulate`, joined to what z
/// holds. Sums of floats stay accurate along rows of any length. z may not overlap x, and has no narrow
/// elements: a sum is rounded once, by whoever stores it.
template<reduction Op, bool Accumulate = false, class Arch = default_arch, class F, Element R, Element... T>
  requires(!NarrowElement<R>)
void reduce_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  std::array const operands{detail::operand{x, &detail::operand_of<Arch, T>}...};
  constexpr bool narrow  = detail::any_narrow<T...>;
  constexpr bool batches = detail::in_batches<F, R, T...>;
  detail::stored<Arch, F, R, computed<T>...> const rows{f};
  auto const join = [&](auto const& joined) {
    if (ParallelFunction<F> && steps.iterations >= worth_dividing)
      detail::join_parts<Op, Arch, narrow>(steps, batches, Accumulate, operands.data(), rows, joined, z);
    else detail::join_blocks<Op, Arch, narrow>(steps, batches, Accumulate, operands.data(), rows, joined, z);
  };
  if constexpr (batches) join(detail::joined<Op, Arch, F, R, sizeof...(T)>{f});
  else join(detail::joined<Op, Arch, function::identity, R, 1>{function::identity{}});
}

/// z = `value` wherever a nest writes, even if it has no iterations: its loops along which z stands still may
/// be empty.
template<Element R>
void fill_results(nest_steps const& steps, R value, R* z) {
  auto const& strides = steps.stride[steps.operands - 1];
  small_array<extent, max_rank> size{};
  small_array<extent, max_rank> stride{};
  int rank = 0;
  for (int i = 0; i < steps.rank; ++i)
    if (strides[i] != 0) {
      size[rank]     = steps.size[i];
      stride[rank++] = strides[i];
    }
  bool const rows  = rank > 0 && stride[rank - 1] == 1;
  extent const run = rows ? size[--rank] : 1;
  for_each_index<1>(size.first(rank), std::array{stride}, {},
                    [&](auto const& start) { std::fill_n(z + start[0], run, value); });
}

namespace detail {

template<reduction Op, Element R>
void reduce_rows(nest_steps const& steps, bool parallel, typed_operand const* x,
                 stored_rows<computed<R>> const& rows, R* z, computed<R>* wide) {
  using Arch = default_arch;
  if (steps.iterations == 0) return fill_results(steps, static_cast<R>(neutral<Op, R>), z);
  if (!steps.reduces) return map_rows(steps, parallel, x, rows, z);
  auto const operands = operands_of(steps, x);
  joined<Op, Arch, function::identity, computed<R>, 1> const joined_ones{function::identity{}};
  if (parallel && steps.iterations >= worth_dividing)
    join_parts<Op, Arch, true>(steps, false, false, operands.data(), rows, joined_ones, wide);
  else join_blocks<Op, Arch, true>(steps, false, false, operands.data(), rows, joined_ones, wide);
  if constexpr (NarrowElement<R>)
    narrow(meshtf::detail::span_of(steps, static_cast<std::size_t>(steps.operands - 1)), wide, z);
}

}  // namespace detail
}  // namespace kernel

namespace task {

template<class F, class R, class... T>
void map<F, R, T...>::compute(nest_steps const& s, place_in_mesh const&, R* z, T const*... x) const {
  if (s.iterations != 0) kernel::map_nest(s, f, z, x...);
}
template<reduction Op, class F, class R, class... T>
void reduce<Op, F, R, T...>::compute(nest_steps const& s, place_in_mesh const&, R* z, T const*... x) const
  requires(!NarrowElement<R>)
{
  if (s.iterations != 0) kernel::reduce_nest<Op>(s, f, z, x...);
  else kernel::fill_results(s, kernel::detail::neutral<Op, R>, z);
}
/// With a narrow result; the scratch memory gets it first, unless nothing is joined.
template<reduction Op, class F, class R, class... T>
void reduce<Op, F, R, T...>::compute(nest_steps const& s, place_in_mesh const&, R* z, T const*... x,
                                     computed<R>* scratch) const
  requires NarrowElement<R>
{
  if (s.iterations == 0) return kernel::fill_results(s, kernel::detail::neutral<Op, R>, z);
  if (!s.reduces) return kernel::map_nest(s, f, z, x...);
  kernel::reduce_nest<Op>(s, f, scratch, x...);
  kernel::narrow(detail::span_of(s, static_cast<std::size_t>(s.operands - 1)), scratch, z);
}

}  // namespace task

namespace kernel {

template<Element T>
void add(extent n, T const* x, T const* y, T* z) {
  map_row(n, function::plus{}, z, x, y);
}
namespace detail {

template<Element T>
[[gnu::noinline]] void fill_parts(extent n, T value, T* z) {
  parallel_for(n, block_elements, n,
               [&](extent begin, extent end) { std::fill_n(z + begin, end - begin, value); });
}
template<Element T>
[[gnu::noinline]] void copy_parts(extent n, T const* x, T* z) {
  parallel_for(n, block_elements, n,
               [&](extent begin, extent end) { std::copy_n(x + begin, end - begin, z + begin); });
}

}  // namespace detail

template<Element T>
void fill(extent n, T value, T* z) {
  if (n < worth_dividing) std::fill_n(z, n, value);
  else detail::fill_parts(n, value, z);
}
template<Element T>
void copy(extent n, T const* x, T* z) {
  if (n < worth_dividing) std::copy_n(x, n, z);
  else detail::copy_parts(n, x, z);
}
template<Element T>
void copy_nest(nest_steps const& steps, T* z, T const* x) {
  map_nest(steps, function::identity{}, z, x);
}

// Narrow results have scratch memory where they are added up.
#define MESHTF_EXTREMES(T)                                                                                 \
  template void detail::reduce_rows<reduction::max>(nest_steps const&, bool, detail::typed_operand const*, \
                                                    detail::stored_rows<computed<T>> const&, T*,           \
                                                    computed<T>*);                                         \
  template void detail::reduce_rows<reduction::min>(nest_steps const&, bool, detail::typed_operand const*, \
                                                    detail::stored_rows<computed<T>> const&, T*,           \
                                                    computed<T>*);
MESHTF_COMPILE_EACH(MESHTF_EXTREMES)
#undef MESHTF_EXTREMES

#define MESHTF_REDUCTIONS(T)                                                                               \
  template void detail::reduce_rows<reduction::sum>(nest_steps const&, bool, detail::typed_operand const*, \
                                                    detail::stored_rows<computed<T>> const&, T*,           \
                                                    computed<T>*);                                         \
  template void detail::reduce_rows<reduction::product>(                                                   \
      nest_steps const&, bool, detail::typed_operand const*, detail::stored_rows<computed<T>> const&, T*,  \
      computed<T>*);
MESHTF_COMPILE_NUMBERS(MESHTF_REDUCTIONS)
#undef MESHTF_REDUCTIONS

#define MESHTF_NESTS(T)                                                                 \
  template void add(extent, T const*, T const*, T*);                                    \
  template void detail::map_rows(nest_steps const&, bool, detail::typed_operand const*, \
                                 detail::stored_rows<computed<T>> const&, T*);          \
  template void fill(extent, T, T*);                                                    \
  template void copy(extent, T const*, T*);                                             \
  template void copy_nest(nest_steps const&, T*, T const*);
MESHTF_COMPILE_EACH(MESHTF_NESTS)
#undef MESHTF_NESTS

}  // namespace kernel

#ifdef MESHTF_COMPILED_PART
MESHTF_BASIC_FUNCTIONS
MESHTF_COMPILE_REDUCE(1, max, function::identity)
MESHTF_COMPILE_REDUCE(1, min, function::identity)
MESHTF_COMPILE_CONVERSION(float, bfloat16)
MESHTF_COMPILE_CONVERSION(bfloat16, float)
#endif
}  // namespace v0
}  // namespace meshtf
