// relu: max(0, x); the gradient at 0 is 0, and at NaN it is NaN.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct relu : bent<1, 1> {
  static constexpr char const* name  = "relu";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::max;
    return max(V(0), x);  // in this order a NaN passes through
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    using math::select;
    return select(z > V(0), dz, z);  // where it is not greater it is 0 or NaN, and so is the gradient
  }
};

}  // namespace function

//= mtf.relu(x) || F.relu(x) || jax.nn.relu(x)
/// max(0, x); the gradient at 0 is 0, and at NaN it is NaN.
template<detail::FloatingOperand X>
constexpr auto relu(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::relu::used, X>>,
                "meshtf: relu needs a finished value: write relu(finish(x))");
  return detail::pointwise<function::relu>(x, at);
}

MESHTF_POINTWISE(relu)

}  // namespace v0
}  // namespace meshtf
