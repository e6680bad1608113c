// windows: all windows along one dimension or several.
#pragma once

#include <source_location>

#include <meshtf/tensor/windowed.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The windows of `x`, with their gradient; `beyond` where the dimension has no elements.
template<class... W, class T, class L, class... X>
constexpr auto recorded_windows(char const* name, std::source_location at, tensor<T, L, X...> const& x,
                                T beyond) {
  using plan = window_plan<actual<L>, shape<X...>, W...>;
  x.machine().begin_operation(name, at);
  auto z = all_windows<plan>(x, beyond);
  if constexpr (FloatingElement<T>)  // others have no gradient, and no kernel that adds them
    record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
      contribute(to, joined_windows<plan>(dz), unreduced);
    });
  return z;
}

}  // namespace detail

//= || F.pad(x, (1, 1)).unfold(1, 3, 1).mT || || windows<window<hidden, three>>(x)
/// All windows of `x`, for functions of the user's own: the dimensions that windows make stand in the place
/// of those that they walk along, and those of a window after the last of them (before the first, if nothing
/// is after it).
///
///     auto const near = windows<window<length, five>>(x);   // [batch, length, model] -> [batch, length,
///                                                           five, model]
///
/// Where a dimension that windows walk along is split, halos are exchanged as by `halo`, and each process
/// makes its own windows. Elements beyond the dimension are zeros. A partial sum stays partial. Gradient:
/// windows of dz are added where they came from; halos are sent back. That of a parameter stays unreduced.
/// Errors: `windows_verdict`.
template<class... W, detail::Operand X>
  requires(detail::is_window<W> && ...)
constexpr auto windows(X const& operand, std::source_location at = std::source_location::current()) {
  using verdict = windows_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, W...>;
  static_assert(accepted<verdict>, "meshtf: these windows can't be taken");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      return detail::recorded_windows<W...>("windows", at, x, detail::element_in<X>{});
    });
}

MESHTF_ACCEPT_REJECTED(windows)

}  // namespace v0
}  // namespace meshtf
