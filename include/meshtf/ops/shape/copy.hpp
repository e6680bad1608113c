// copy: the same values in storage of their own.
#pragma once

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// The values of `x`, of the same shape and placement, in storage that nothing else shares: writes to `x` do
/// not change the copy, nor the other way round.
///
///     auto before = stop_gradient(copy(w));   // the present values of w, as data
///
/// Local; a partial sum stays partial. Gradient: dz unchanged; that of a parameter stays unreduced.
template<detail::Operand X>
constexpr auto copy(X const& operand, std::source_location at = std::source_location::current()) {
  return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
    x.machine().begin_operation("copy", at);
    auto z = detail::copied(x);
    detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
      detail::contribute(to, dz, unreduced);
    });
    return z;
  });
}

MESHTF_ACCEPT_REJECTED(copy)

}  // namespace v0
}  // namespace meshtf
