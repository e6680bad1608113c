// exp: e to the power of x.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct exp : smooth<1, 1> {
  static constexpr char const* name  = "exp";
  static constexpr algebra::use used = algebra::use::monotone;

  constexpr auto operator()(auto const& x) const {
    using math::exp;
    return exp(x);
  }
  constexpr auto gradient_by_result(auto const& dz, auto const& z) const { return dz * z; }
};

}  // namespace function

//= mtf.exp(x) || x.exp() || jnp.exp(x)
/// e to the power of x.
template<detail::FloatingOperand X>
constexpr auto exp(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::exp::used, X>>,
                "meshtf: exp needs a finished value: write exp(finish(x))");
  return detail::pointwise<function::exp>(x, at);
}

MESHTF_POINTWISE(exp)

}  // namespace v0
}  // namespace meshtf
