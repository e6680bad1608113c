// reciprocal: 1 / x
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct reciprocal : smooth_of_positive<1, 3> {
  static constexpr char const* name  = "reciprocal";
  static constexpr algebra::use used = algebra::use::divisor;

  template<class V>
  constexpr V operator()(V const& x) const {
    return V(1) / x;
  }
  constexpr auto gradient_by_result(auto const& dz, auto const& z) const { return -(dz * z * z); }
};

}  // namespace function

//= mtf.reciprocal(x) || x.reciprocal() || jnp.reciprocal(x)
/// 1 / x
template<detail::FloatingOperand X>
constexpr auto reciprocal(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::reciprocal::used, X>>,
                "meshtf: reciprocal needs a finished value: write reciprocal(finish(x))");
  return detail::pointwise<function::reciprocal>(x, at);
}

MESHTF_POINTWISE(reciprocal)

}  // namespace v0
}  // namespace meshtf
