// flip: the elements along a dimension, in reverse.
#pragma once

#include <source_location>

#include <meshtf/tensor/displaced.hpp>

namespace meshtf {
inline namespace v0 {

/// The elements of `x` along `Along` from the last to the first; of the same shape and placement.
///
/// `Along` is whole under the layout. Local; an open sum stays open. Gradient: dz flipped; that of a parameter stays open.
template<Dimension Along, detail::Operand X>
constexpr auto flip(X const& operand, std::source_location at = std::source_location::current()) {
  using verdict = displace_verdict<wet<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: flip can't work along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::moved>(operand, [&](auto const& x) {
      auto& m = x.machine();
      m.enter("flip", at);
      return detail::displaced<Along, Along>(x, {.offset = m.counted().template of<Along>() - 1, .reversed = true});
    });
  }
}

}  // namespace v0
}  // namespace meshtf
