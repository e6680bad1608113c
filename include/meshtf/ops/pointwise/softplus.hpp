// softplus: log(1 + exp(x)), without overflow.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct softplus_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    using math::expm1;
    return -(dz * expm1(-z));  // sigmoid(x) = 1 - exp(-z)
  }
};

struct softplus : of_elements<5> {
  static constexpr char const* name  = "softplus";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_result<softplus_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::abs;
    using math::exp;
    using math::log1p;
    using math::max;
    return max(V(0), x) + log1p(exp(-abs(x)));  // in this order a NaN passes through
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::softplus)
MESHTF_COMPILE_MAP(2, function::softplus_gradient)

/// log(1 + exp(x)), which neither overflows nor loses digits. Its gradient is sigmoid(x).
template<detail::FloatingOperand X>
constexpr auto softplus(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::softplus::used, X>>,
                "meshtf: softplus needs a finished value: write softplus(finish(x))");
  return detail::pointwise<function::softplus>(x, at);
}

MESHTF_ACCEPT_REJECTED(softplus)

}  // namespace v0
}  // namespace meshtf
