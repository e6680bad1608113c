// shift and roll: elements that move along a dimension, out of it or around it.
#pragma once

#include <concepts>
#include <source_location>

#include <meshtf/tensor/shifted.hpp>

namespace meshtf {
inline namespace v0 {

/// z[i] = x[i - offset] along `Along`, and zeros where `x` has no element; of the same shape and placement.
///
///     auto before = shift<length>(x, 1);   // what stood one place earlier
///
/// All processes must say the same `offset`. Where `Along` is whole, it is local. Where it is split, each
/// process hands the `offset` rows at the edge of its part to the process next to it (one message of kind
/// `neighbours`). Beyond the size of a part, all rows go to two processes that are next to one another (two
/// messages, or one for whole parts). So the price depends on `offset`. A partial sum stays partial.
/// Gradient: dz shifted back, with the same messages; that of a parameter stays unreduced.
/// Source: Shazeer et al., Mesh-TensorFlow (2018).
template<Dimension Along, detail::Operand X>
constexpr auto shift(X const& operand, extent offset,
                     std::source_location at = std::source_location::current()) {
  using verdict = shift_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: shift can't work along this dimension");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::linearly<algebra::use::layout_only>(
        operand, [&](auto const& x) { return detail::shifted<Along>("shift", at, x, offset, false); });
}

/// The same with `value` in the place of zeros. It would be added up with the local terms of a partial sum,
/// so `x` is finished.
template<Dimension Along, detail::Operand X, Number V>
constexpr auto shift(X const& operand, extent offset, V value,
                     std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::shifted, X>;
  using verdict = shift_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<whole>,
                "meshtf: each process would add its own values: write shift<...>(finish(x), offset, value)");
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: shift can't work along this dimension");
  static_assert(!std::same_as<V, bool> || std::same_as<detail::element_in<X>, bool>,
                "meshtf: shift's third argument is the value that comes in: roll<...>(x, offset) goes round");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected{};
  else
    return detail::shifted<Along>("shift", at, detail::local_terms(operand), offset, false,
                                  static_cast<detail::element_in<X>>(value));
}

/// z[i] = x[i - offset] along `Along`, where the last element is followed by the first; of the same shape and
/// placement.
///
/// It sends what `shift` sends, the shorter way around; the parts of a split dimension are equal. Gradient:
/// dz rolled back; that of a parameter stays unreduced.
template<Dimension Along, detail::Operand X>
constexpr auto roll(X const& operand, extent offset,
                    std::source_location at = std::source_location::current()) {
  using verdict = roll_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: roll can't work along this dimension");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::linearly<algebra::use::layout_only>(
        operand, [&](auto const& x) { return detail::shifted<Along>("roll", at, x, offset, true); });
}

MESHTF_ACCEPT_REJECTED(shift)
MESHTF_ACCEPT_REJECTED(roll)

}  // namespace v0
}  // namespace meshtf
