// gelu_erf: x times the normal cumulative distribution function, exactly.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct gelu_erf : smooth<4, 10> {
  static constexpr char const* name  = "gelu_erf";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::erfc;
    // erfc keeps the digits that 1 + erf loses where x < 0
    return V(0.5) * x * erfc(rounded<V>(-0.7071067811865476) * x);
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::erfc;
    using math::exp;
    V const phi     = V(0.5) * erfc(rounded<V>(-0.7071067811865476) * x);
    V const density = rounded<V>(0.3989422804014327) * exp(V(-0.5) * x * x);  // 1 / sqrt(2 pi)
    return dz * (phi + x * density);
  }
};

}  // namespace function

//= || F.gelu(x) || jax.nn.gelu(x, approximate=False)
/// x times the normal cumulative distribution function, computed with the error function; `gelu` approximates
/// it with tanh. Source: Hendrycks, Gimpel, Gaussian Error Linear Units (2016); the name is oneDNN's.
template<detail::FloatingOperand X>
constexpr auto gelu_erf(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::gelu_erf::used, X>>,
                "meshtf: gelu_erf needs a finished value: write gelu_erf(finish(x))");
  return detail::pointwise<function::gelu_erf>(x, at);
}

MESHTF_POINTWISE(gelu_erf)

}  // namespace v0
}  // namespace meshtf
