// Nests of functions that the compiled library does not know: the rows are compiled where the function is,
// the loops around them are not.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include <meshtf/kernel/narrow.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// Whether the compiled library has the kernel of a task. Of functions it has those of operands that are all
/// stored as the result is, and conversions.
template<class K>
inline constexpr bool is_compiled = true;
template<class F, class R, class... T>
inline constexpr bool is_compiled<task::map<F, R, T...>> =
    has_compiled_task<task::map<F, R, T...>> ||
    (has_compiled_maps<F> && in_batches<F, R, T...> && (std::same_as<R, T> && ...));
template<class R, class T>
inline constexpr bool is_compiled<task::map<function::identity, R, T>> =
    FloatingElement<R> && std::same_as<computed<R>, computed<T>>;
template<class F, class R, class... T>
inline constexpr bool is_compiled<task::reduce<reduction::sum, F, R, T...>> =
    has_compiled_task<task::reduce<reduction::sum, F, R, T...>> ||
    (has_compiled_sums<F> && in_batches<F, R, T...> && (std::same_as<R, T> && ...));
template<reduction Op, class F, class R, class... T>
inline constexpr bool is_compiled<task::reduce<Op, F, R, T...>> = false;
template<class R>
inline constexpr bool is_compiled<task::reduce<reduction::max, function::identity, R, R>> =
    FloatingElement<R>;
template<class R>
inline constexpr bool is_compiled<task::reduce<reduction::min, function::identity, R, R>> =
    FloatingElement<R>;

/// The processor that this translation unit is compiled for.
template<int Bits>
struct users_arch_of;
#if defined(__AVX512F__)
using users_arch = users_arch_of<512>;
#elif defined(__AVX__)
using users_arch = users_arch_of<256>;
#else
using users_arch = users_arch_of<128>;
#endif

template<class F, class R, class... T>
void compute_here(task::map<F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z,
                  T const*... x) {
  if (s.iterations == 0) return;
  if constexpr (!any_narrow<R, T...>)
    if (is_one_row<sizeof...(T) + 1>(s) && (!ParallelFunction<F> || s.iterations <= block_elements))
      return plain_loop<users_arch>(task.f, s.iterations, z, x...);
  std::array const operands{typed_operand{x, element_of<T>}...};
  map_rows(s, ParallelFunction<F>, operands.data(),
           plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z);
}

template<reduction Op, class F, class R, class... T>
void compute_here(task::reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z,
                  T const*... x) {
  std::array const operands{typed_operand{x, element_of<T>}...};
  reduce_rows<Op>(s, ParallelFunction<F>, operands.data(),
                  plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z, z);
}
template<reduction Op, class F, NarrowElement R, class... T, class... X>
  requires(sizeof...(X) == sizeof...(T) + 1)
void compute_here(task::reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z,
                  X*... arrays) {
  std::tuple<X*...> const all{arrays...};
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    std::array const operands{typed_operand{std::get<K>(all), element_of<T>}...};
    reduce_rows<Op>(s, ParallelFunction<F>, operands.data(),
                    plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z,
                    std::get<sizeof...(T)>(all));
  }(std::index_sequence_for<T...>{});
}

}  // namespace detail

/// Runs a task with the kernel of the compiled library, or, if it has a function of the user's, with one that
/// is compiled here.
template<class K, class... A>
void execute(K const& task, typename K::steps_type const& steps, place_in_mesh const& here,
             A const&... arrays) {
  if constexpr (detail::is_compiled<K>) task.compute(steps, here, arrays...);
  else detail::compute_here(task, steps, here, arrays...);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
