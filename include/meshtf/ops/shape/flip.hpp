// flip: the elements along a dimension, in reverse.
#pragma once

#include <source_location>

#include <meshtf/tensor/displaced.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// How `flip` works under `L`. The search has another way (search/undecided_shifts.hpp).
template<class L>
struct flip_under {
  template<class Along, class X>
  static constexpr X apply(X const& x) {
    using T    = typename X::element_type;
    using plan = flip_plan<L, typename X::shape_type, Along>;
    auto& m    = x.machine();
    extent n   = m.counted().template of<Along>();
    if constexpr (plan::exchanges) n = placed_under<L, Along>.allocated_extent();
    auto part = moved_along<Along, Along>(x, {.offset = n - 1, .reversed = true}, T{});
    if constexpr (plan::exchanges) {
      auto z = X::uninitialised(m);
      m.move(plan::exchange, static_cast<T const*>(part.data()), z.data());
      return z;
    } else {
      return part;
    }
  }
};

template<class Along, class T, class L, class... D>
constexpr auto flipped(tensor<T, L, D...> const& x) {
  return flip_under<actual<L>>::template apply<Along>(x);
}

}  // namespace detail

/// The elements of `x` along `Along` from the last to the first; of the same shape and placement.
///
/// Where `Along` is whole, it is local. Where it is split into equal parts, the first part goes to the last
/// process and so on (one `permute`). A partial sum stays partial. Gradient: dz flipped; that of a parameter
/// stays unreduced.
template<Dimension Along, detail::Operand X>
constexpr auto flip(X const& operand, std::source_location at = std::source_location::current()) {
  using verdict = flip_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: flip can't work along this dimension");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      x.machine().begin_operation("flip", at);
      auto z = detail::flipped<Along>(x);
      detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
        detail::contribute(to, detail::flipped<Along>(dz), unreduced);
      });
      return z;
    });
  }
}

MESHTF_ACCEPT_REJECTED(flip)

}  // namespace v0
}  // namespace meshtf
