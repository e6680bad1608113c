// sin and cos, of angles in radians.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sin_gradient;
struct cos_gradient;

struct sin : of_elements<1> {
  static constexpr char const* name  = "sin";
  static constexpr algebra::use used = algebra::use::nonlinear;
  using gradient                     = by_operand<sin_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::sin;
    return sin(x);
  }
};

struct cos : of_elements<1> {
  static constexpr char const* name  = "cos";
  static constexpr algebra::use used = algebra::use::nonlinear;
  using gradient                     = by_operand<cos_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::cos;
    return cos(x);
  }
};

struct sin_gradient : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    using math::cos;
    return dz * cos(x);
  }
};

struct cos_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    using math::sin;
    return -(dz * sin(x));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::sin)
MESHTF_COMPILE_MAP(1, function::cos)
MESHTF_COMPILE_MAP(2, function::sin_gradient)
MESHTF_COMPILE_MAP(2, function::cos_gradient)

/// The sine of an angle in radians.
template<detail::FloatingOperand X>
constexpr auto sin(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sin::used, X>>,
                "meshtf: sin needs a finished value: write sin(finish(x))");
  return detail::pointwise<function::sin>(x, at);
}

/// The cosine of an angle in radians.
template<detail::FloatingOperand X>
constexpr auto cos(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::cos::used, X>>,
                "meshtf: cos needs a finished value: write cos(finish(x))");
  return detail::pointwise<function::cos>(x, at);
}

MESHTF_ACCEPT_REJECTED(sin)
MESHTF_ACCEPT_REJECTED(cos)

}  // namespace v0
}  // namespace meshtf
