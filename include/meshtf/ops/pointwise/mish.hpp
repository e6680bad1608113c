// mish: x * tanh(softplus(x)).
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// With e = exp(-|x|), which does not overflow, tanh(softplus(x)) is a fraction whose terms are positive:
/// e (e + 2) / (e (e + 2) + 2) where x < 0, (1 + 2 e) / (1 + 2 e + 2 e e) elsewhere.
struct mish : smooth<13, 21> {
  static constexpr char const* name  = "mish";
  static constexpr algebra::use used = algebra::use::nonlinear;

  template<class V>
  struct fraction {
    V e;
    V above;
    V below;
  };
  template<class V>
  static constexpr fraction<V> tanh_of_softplus(V const& x) {
    using math::abs;
    using math::exp;
    using math::select;
    V const e    = exp(-abs(x));
    V const left = e * (e + V(2));
    V const rest = V(1) + V(2) * e;
    return {e, select(x < V(0), left, rest), select(x < V(0), left + V(2), rest + V(2) * e * e)};
  }

  template<class V>
  constexpr V operator()(V const& x) const {
    auto const t = tanh_of_softplus(x);
    return x * (t.above / t.below);
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::select;
    auto const t  = tanh_of_softplus(x);
    V const slope = V(4) * t.e * (V(1) + t.e) * select(x < V(0), V(1), t.e) / (t.below * t.below);
    return dz * (t.above / t.below + x * slope);
  }
};

}  // namespace function

//= || F.mish(x) || jax.nn.mish(x)
/// x * tanh(softplus(x)), for floating point elements of any placement; the result has x's. Nothing is sent.
/// Source: Misra, Mish: A Self Regularized Non-Monotonic Activation Function (2019).
template<detail::FloatingOperand X>
constexpr auto mish(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::mish::used, X>>,
                "meshtf: mish needs a finished value: write mish(finish(x))");
  return detail::pointwise<function::mish>(x, at);
}

MESHTF_POINTWISE(mish)

}  // namespace v0
}  // namespace meshtf
