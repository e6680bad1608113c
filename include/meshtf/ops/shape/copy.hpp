// copy: the same values in storage of their own.
#pragma once

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// The values of `x`, of the same shape and placement, in storage that nobody else has: what is written to `x` later is not seen in it, nor the other way.
///
///     auto before = stop_gradient(copy(w));   // what w is now, as data
///
/// Local; an open sum stays open. Gradient: passes through unchanged, and a parameter's stays open.
template<detail::Operand X>
constexpr auto copy(X const& operand, std::source_location at = std::source_location::current()) {
  return detail::linearly<algebra::use::moved>(operand, [&](auto const& x) {
    x.machine().enter("copy", at);
    auto z = detail::copied(x);
    detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set owed) { detail::contribute(to, dz, owed); });
    return z;
  });
}

}  // namespace v0
}  // namespace meshtf
