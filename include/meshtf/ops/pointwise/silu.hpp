// silu: x * sigmoid(x), also called swish.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct silu : smooth<4, 7> {
  static constexpr char const* name  = "silu";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::exp;
    return x / (V(1) + exp(-x));
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::abs;
    using math::exp;
    using math::select;
    V const e    = exp(-abs(x));  // at most 1: nothing overflows
    V const s    = V(1) / (V(1) + e);
    V const rest = e * s;  // 1 - s, without cancellation
    return select(x < V(0), dz * rest * (V(1) + x * s), dz * s * (V(1) + x * rest));
  }
};

}  // namespace function

//= mtf.swish(x) || F.silu(x) || jax.nn.silu(x)
/// x * sigmoid(x), also called swish. Source: Elfwing, Uchibe, Doya, Sigmoid-Weighted Linear Units (2017).
template<detail::FloatingOperand X>
constexpr auto silu(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::silu::used, X>>,
                "meshtf: silu needs a finished value: write silu(finish(x))");
  return detail::pointwise<function::silu>(x, at);
}

MESHTF_POINTWISE(silu)

}  // namespace v0
}  // namespace meshtf
