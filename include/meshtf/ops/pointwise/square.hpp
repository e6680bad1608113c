// square: x * x
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct square_gradient : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    return V(2) * x * dz;
  }
};

struct square : of_elements<1> {
  static constexpr char const* name  = "square";
  static constexpr algebra::use used = algebra::use::nonlinear;
  using gradient                     = by_operand<square_gradient>;

  constexpr auto operator()(auto const& x) const { return x * x; }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM(1, function::square)
MESHTF_COMPILE_MAP(2, function::square_gradient)

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
