// square: x * x
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct square : smooth<1, 2> {
  static constexpr char const* name  = "square";
  static constexpr algebra::use used = algebra::use::nonlinear;

  constexpr auto operator()(auto const& x) const { return x * x; }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    return V(2) * x * dz;
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM(1, function::square)
MESHTF_COMPILE_MAP(2, function::gradient<function::square>)

//= mtf.square(x) || x.square() || jnp.square(x)
/// x * x
template<detail::Operand X>
constexpr auto square(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::square::used, X>>,
                "meshtf: square needs a finished value: write square(finish(x))");
  return detail::pointwise<function::square>(x, at);
}

MESHTF_ACCEPT_REJECTED(square)

}  // namespace v0
}  // namespace meshtf
