// copy: the same values in storage of their own.
#pragma once

#include <source_location>

#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// The values of `x`, of the same shape and placement, in storage that nobody else has: what is written to `x` later is not seen in it, nor the other way.
///
///     auto before = stop_gradient(copy(w));   // what w is now, as data
///
/// Local. Gradient: passes through unchanged, and a parameter's stays open.
template<class T, class L, class... D>
constexpr auto copy(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  x.machine().enter("copy", at);
  auto z = detail::copied(x);
  if (detail::wants_gradient(x)) {
    bool const open = x.gradient_stays_open();
    detail::record<detail::incoming::open_if_open>(
        z, [x = x.without_value()](auto const& dz, axis_set owed) { detail::contribute(x, dz, owed); }, open);
  }
  return z;
}

/// An open sum stays open.
template<class V, class Over>
constexpr auto copy(partial<V, Over> const& p, std::source_location at = std::source_location::current()) {
  return detail::handed_through<algebra::use::moved>(p, copy(p.addend(), at));
}

}  // namespace meshtf::inline v0
