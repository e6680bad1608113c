// abs: the absolute value; the gradient at 0 is 0, and at NaN it is NaN.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct abs : bent<1, 1> {
  static constexpr char const* name  = "abs";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::abs;
    return abs(x);
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::select;
    // at the end it is 0 or NaN, and so is the gradient
    return select(x > V(0), dz, select(x < V(0), -dz, x));
  }
};

}  // namespace function

//= mtf.abs(x) || x.abs() || jnp.abs(x)
/// The absolute value; the gradient at 0 is 0, and at NaN it is NaN.
template<detail::NumberOperand X>
constexpr auto abs(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::abs::used, X>>,
                "meshtf: abs needs a finished value: write abs(finish(x))");
  return detail::pointwise<function::abs>(x, at);
}

MESHTF_POINTWISE(abs)

}  // namespace v0
}  // namespace meshtf
