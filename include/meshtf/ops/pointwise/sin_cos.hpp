// sin and cos, of angles in radians.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct cos;

struct sin : smooth<1, 2> {
  static constexpr char const* name  = "sin";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::sin;
    return sin(x);
  }
  constexpr auto gradient_by_operand(auto const& dz, auto const& x) const { return dz * value<cos>(x); }
};

struct cos : smooth<1, 3> {
  static constexpr char const* name  = "cos";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::cos;
    return cos(x);
  }
  constexpr auto gradient_by_operand(auto const& dz, auto const& x) const { return -(dz * value<sin>(x)); }
};

}  // namespace function

//= mtf.sin(x) || x.sin() || jnp.sin(x)
/// The sine of an angle in radians.
template<detail::FloatingOperand X>
constexpr auto sin(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sin::used, X>>,
                "meshtf: sin needs a finished value: write sin(finish(x))");
  return detail::pointwise<function::sin>(x, at);
}

//= mtf.cos(x) || x.cos() || jnp.cos(x)
/// The cosine of an angle in radians.
template<detail::FloatingOperand X>
constexpr auto cos(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::cos::used, X>>,
                "meshtf: cos needs a finished value: write cos(finish(x))");
  return detail::pointwise<function::cos>(x, at);
}

MESHTF_POINTWISE(sin)
MESHTF_POINTWISE(cos)

}  // namespace v0
}  // namespace meshtf
