// sqrt: the square root.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sqrt : smooth_of_positive<1, 2> {
  static constexpr char const* name  = "sqrt";
  static constexpr algebra::use used = algebra::use::monotone;

  constexpr auto operator()(auto const& x) const {
    using math::sqrt;
    return sqrt(x);
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    return V(0.5) * dz / z;
  }
};

}  // namespace function

//= mtf.sqrt(x) || x.sqrt() || jnp.sqrt(x)
/// The square root.
template<detail::FloatingOperand X>
constexpr auto sqrt(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sqrt::used, X>>,
                "meshtf: sqrt needs a finished value: write sqrt(finish(x))");
  return detail::pointwise<function::sqrt>(x, at);
}

MESHTF_POINTWISE(sqrt)

}  // namespace v0
}  // namespace meshtf
