// sigmoid: 1 / (1 + exp(-x))
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sigmoid : smooth<3, 3> {
  static constexpr char const* name  = "sigmoid";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    // computed with tanh, which never overflows
    using math::tanh;
    return V(0.5) * tanh(V(0.5) * x) + V(0.5);
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    return dz * z * (V(1) - z);
  }
};

}  // namespace function

//= mtf.sigmoid(x) || F.sigmoid(x) || jax.nn.sigmoid(x)
/// 1 / (1 + exp(-x))
template<detail::FloatingOperand X>
constexpr auto sigmoid(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sigmoid::used, X>>,
                "meshtf: sigmoid needs a finished value: write sigmoid(finish(x))");
  return detail::pointwise<function::sigmoid>(x, at);
}

MESHTF_POINTWISE(sigmoid)

}  // namespace v0
}  // namespace meshtf
