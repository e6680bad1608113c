// Nests of functions that the compiled part does not know: the rows are compiled where the function is, the loops around them are not.
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

/// Whether the compiled part has the nests of a function: one of the library's, of operands that are all stored as the result is, or a conversion.
template<class F, class R, class... T>
inline constexpr bool in_compiled_part = LibraryFunction<F> && in_batches<F, R, T...> && (std::same_as<R, T> && ...);

template<class F, class R, class... T>
inline constexpr bool map_in_compiled_part = in_compiled_part<F, R, T...>;
template<class R, class T>
inline constexpr bool map_in_compiled_part<function::identity, R, T> = FloatingElement<R> && std::same_as<computed<R>, computed<T>>;

struct users_arch;

}  // namespace detail
}  // namespace kernel

namespace task {

template<class F, class R, class... T>
  requires(!kernel::detail::map_in_compiled_part<F, R, T...>)
void compute(map<F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, T const*... x) {
  using namespace kernel::detail;
  if (s.turns == 0) return;
  if constexpr (!any_narrow<R, T...>)
    if (is_one_row<sizeof...(T) + 1>(s)) return plain_loop(task.f, s.turns, z, x...);
  std::array const operands{typed_operand{x, element_of<T>}...};
  map_rows(s, operands.data(), plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z);
}

template<reduction Op, class F, class R, class... T>
  requires(!kernel::detail::in_compiled_part<F, R, T...>)
void compute(reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, T const*... x) {
  using namespace kernel::detail;
  std::array const operands{typed_operand{x, element_of<T>}...};
  reduce_rows<Op>(s, operands.data(), plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z, z);
}
template<reduction Op, class F, NarrowElement R, class... T, class... X>
  requires(sizeof...(X) == sizeof...(T) + 1 && !kernel::detail::in_compiled_part<F, R, T...>)
void compute(reduce<Op, F, R, T...> const& task, nest_steps const& s, place_in_mesh const&, R* z, X*... arrays) {
  using namespace kernel::detail;
  std::tuple<X*...> const all{arrays...};
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    std::array const operands{typed_operand{std::get<K>(all), element_of<T>}...};
    reduce_rows<Op>(s, operands.data(), plain_rows<users_arch, F, computed<R>, computed<T>...>{task.f}, z, std::get<sizeof...(T)>(all));
  }(std::index_sequence_for<T...>{});
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
