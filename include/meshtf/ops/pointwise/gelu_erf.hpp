// gelu_erf: x times the normal cumulative distribution function, exactly.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct gelu_erf_gradient : of_elements<10> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    using math::erfc;
    using math::exp;
    V const phi     = V(0.5) * erfc(rounded<V>(-0.7071067811865476) * x);
    V const density = rounded<V>(0.3989422804014327) * exp(V(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return dz * (phi + x * density);
  }
};

struct gelu_erf : of_elements<4> {
  static constexpr char const* name  = "gelu_erf";
  static constexpr algebra::use used = algebra::use::nonlinear;
  using gradient                     = by_operand<gelu_erf_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::erfc;
    // erfc keeps the digits that 1 + erf loses where x < 0
    return V(0.5) * x * erfc(rounded<V>(-0.7071067811865476) * x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::gelu_erf)
MESHTF_COMPILE_MAP(2, function::gelu_erf_gradient)

/// x times the normal cumulative distribution function, computed with the error function; `gelu` approximates
/// it with tanh. Source: Hendrycks, Gimpel, Gaussian Error Linear Units (2016); the name is oneDNN's.
template<detail::FloatingOperand X>
constexpr auto gelu_erf(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::gelu_erf::used, X>>,
                "meshtf: gelu_erf needs a finished value: write gelu_erf(finish(x))");
  return detail::pointwise<function::gelu_erf>(x, at);
}

MESHTF_ACCEPT_REJECTED(gelu_erf)

}  // namespace v0
}  // namespace meshtf
