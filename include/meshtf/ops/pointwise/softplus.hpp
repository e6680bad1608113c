// softplus: log(1 + exp(x)), without overflow.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct softplus : smooth<5, 3> {
  static constexpr char const* name  = "softplus";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::abs;
    using math::exp;
    using math::log1p;
    using math::max;
    return max(V(0), x) + log1p(exp(-abs(x)));  // in this order a NaN passes through
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    using math::expm1;
    return -(dz * expm1(-z));  // sigmoid(x) = 1 - exp(-z)
  }
};

}  // namespace function

//= mtf.softplus(x) || F.softplus(x) || jax.nn.softplus(x)
/// log(1 + exp(x)), which neither overflows nor loses digits. Its gradient is sigmoid(x).
template<detail::FloatingOperand X>
constexpr auto softplus(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::softplus::used, X>>,
                "meshtf: softplus needs a finished value: write softplus(finish(x))");
  return detail::pointwise<function::softplus>(x, at);
}

MESHTF_POINTWISE(softplus)

}  // namespace v0
}  // namespace meshtf
