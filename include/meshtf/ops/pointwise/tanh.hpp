// tanh: the hyperbolic tangent.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct tanh_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return dz * (V(1) - z * z);
  }
};

struct tanh : of_elements<1> {
  static constexpr char const* name  = "tanh";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_result<tanh_gradient>;

  constexpr auto operator()(auto const& x) const {
    using math::tanh;
    return tanh(x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::tanh)
MESHTF_COMPILE_MAP(2, function::tanh_gradient)

/// The hyperbolic tangent.
template<detail::FloatingOperand X>
constexpr auto tanh(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::tanh::used, X>>,
                "meshtf: tanh needs a finished value: write tanh(finish(x))");
  return detail::pointwise<function::tanh>(x, at);
}

MESHTF_ACCEPT_REJECTED(tanh)

}  // namespace v0
}  // namespace meshtf
