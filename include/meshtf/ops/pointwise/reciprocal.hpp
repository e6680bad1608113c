// reciprocal: 1 / x
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct result_squared_gradient : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return -(dz * z * z);
  }
};

struct reciprocal : of_elements<1> {
  static constexpr char const* name  = "reciprocal";
  static constexpr algebra::use used = algebra::use::divisor;
  using gradient                     = by_result<result_squared_gradient>;

  template<class V>
  constexpr V operator()(V const& x) const {
    return V(1) / x;
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::reciprocal)
MESHTF_COMPILE_MAP(2, function::result_squared_gradient)

/// 1 / x
template<detail::FloatingOperand X>
constexpr auto reciprocal(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::reciprocal::used, X>>,
                "meshtf: reciprocal needs a finished value: write reciprocal(finish(x))");
  return detail::pointwise<function::reciprocal>(x, at);
}

MESHTF_ACCEPT_REJECTED(reciprocal)

}  // namespace v0
}  // namespace meshtf
