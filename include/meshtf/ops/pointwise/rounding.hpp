// floor, ceil and round: to integers, in the element type.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct floor : of_elements<1> {
  static constexpr char const* name  = "floor";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::floor;
    return floor(x);
  }
};

struct ceil : of_elements<1> {
  static constexpr char const* name  = "ceil";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::ceil;
    return ceil(x);
  }
};

struct round : of_elements<1> {
  static constexpr char const* name  = "round";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::nearbyint;
    return nearbyint(x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::floor)
MESHTF_COMPILE_MAP(1, function::ceil)
MESHTF_COMPILE_MAP(1, function::round)

//= || x.floor() || jnp.floor(x)
/// The largest integer that is at most x, in the element type. No gradient.
template<detail::FloatingOperand X>
constexpr auto floor(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::floor::used, X>>,
                "meshtf: floor needs a finished value: write floor(finish(x))");
  return detail::pointwise<function::floor>(x, at);
}

//= || x.ceil() || jnp.ceil(x)
/// The smallest integer that is at least x, in the element type. No gradient.
template<detail::FloatingOperand X>
constexpr auto ceil(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::ceil::used, X>>,
                "meshtf: ceil needs a finished value: write ceil(finish(x))");
  return detail::pointwise<function::ceil>(x, at);
}

//= || x.round() || jnp.round(x)
/// The nearest integer, of two the even one, in the element type. No gradient.
template<detail::FloatingOperand X>
constexpr auto round(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::round::used, X>>,
                "meshtf: round needs a finished value: write round(finish(x))");
  return detail::pointwise<function::round>(x, at);
}

MESHTF_ACCEPT_REJECTED(floor)
MESHTF_ACCEPT_REJECTED(ceil)
MESHTF_ACCEPT_REJECTED(round)

}  // namespace v0
}  // namespace meshtf
