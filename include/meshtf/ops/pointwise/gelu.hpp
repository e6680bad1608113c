// gelu: x times the normal cumulative distribution function, approximated with tanh.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// x * Phi(x), with Phi approximated with tanh. Source: Hendrycks, Gimpel, Gaussian Error Linear Units
/// (2016).
///
/// (1 + tanh u) / 2 = 1 / (1 + exp(-2u)). exp is faster than tanh, and the gradient loses fewer digits with
/// it.
struct gelu : smooth<8, 14> {
  static constexpr char const* name  = "gelu";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  static constexpr V exponential(V const& x) {  // exp(-2u)
    using math::exp;
    return exp(x *
               (rounded<V>(-2 * 0.7978845608028654) - rounded<V>(2 * 0.7978845608028654 * 0.044715) * x * x));
  }
  template<class V>
  constexpr V operator()(V const& x) const {
    return x / (V(1) + exponential(x));
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::select;
    V const e    = gelu::exponential(x);
    V const phi  = V(1) / (V(1) + e);
    V const rest = select(e < V(1), e * phi, V(1) - phi);  // 1 - phi, without cancellation
    V const slope =
        rounded<V>(2 * 0.7978845608028654) + rounded<V>(6 * 0.7978845608028654 * 0.044715) * x * x;
    return dz * (phi + x * phi * rest * slope);
  }
};

}  // namespace function

//= mtf.gelu(x) || F.gelu(x, approximate="tanh") || jax.nn.gelu(x)
/// x times the normal cumulative distribution function, approximated with tanh. Source: Hendrycks, Gimpel,
/// Gaussian Error Linear Units (2016).
template<detail::FloatingOperand X>
constexpr auto gelu(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::gelu::used, X>>,
                "meshtf: gelu needs a finished value: write gelu(finish(x))");
  return detail::pointwise<function::gelu>(x, at);
}

MESHTF_POINTWISE(gelu)

}  // namespace v0
}  // namespace meshtf
