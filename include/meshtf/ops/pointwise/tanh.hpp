// tanh: the hyperbolic tangent.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct tanh : smooth<1, 3> {
  static constexpr char const* name  = "tanh";
  static constexpr algebra::use used = algebra::use::monotone;

  constexpr auto operator()(auto const& x) const {
    using math::tanh;
    return tanh(x);
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    return dz * (V(1) - z * z);
  }
};

}  // namespace function

//= mtf.tanh(x) || x.tanh() || jnp.tanh(x)
/// The hyperbolic tangent.
template<detail::FloatingOperand X>
constexpr auto tanh(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::tanh::used, X>>,
                "meshtf: tanh needs a finished value: write tanh(finish(x))");
  return detail::pointwise<function::tanh>(x, at);
}

MESHTF_POINTWISE(tanh)

}  // namespace v0
}  // namespace meshtf
