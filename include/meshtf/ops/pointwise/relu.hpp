// relu: max(0, x); the gradient at 0 is 0, and at NaN it is NaN.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct relu_gradient : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    using math::select;
    return select(z > V(0), dz, z);  // where it is not greater it is 0 or NaN, and so is the gradient
  }
};

struct relu : of_elements<1> {
  static constexpr char const* name  = "relu";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_result<relu_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::max;
    return max(V(0), x);  // in this order a NaN passes through
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::relu)
MESHTF_COMPILE_MAP(2, function::relu_gradient)

/// max(0, x); the gradient at 0 is 0, and at NaN it is NaN.
template<detail::FloatingOperand X>
constexpr auto relu(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::relu::used, X>>,
                "meshtf: relu needs a finished value: write relu(finish(x))");
  return detail::pointwise<function::relu>(x, at);
}

MESHTF_ACCEPT_REJECTED(relu)

}  // namespace v0
}  // namespace meshtf
