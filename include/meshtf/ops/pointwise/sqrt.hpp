// sqrt: the square root.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sqrt_gradient : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return V(0.5) * dz / z;
  }
};

struct sqrt : of_elements<1> {
  static constexpr char const* name  = "sqrt";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_result<sqrt_gradient>;

  constexpr auto operator()(auto const& x) const {
    using math::sqrt;
    return sqrt(x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::sqrt)
MESHTF_COMPILE_MAP(2, function::sqrt_gradient)

/// The square root.
template<detail::FloatingOperand X>
constexpr auto sqrt(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sqrt::used, X>>,
                "meshtf: sqrt needs a finished value: write sqrt(finish(x))");
  return detail::pointwise<function::sqrt>(x, at);
}

MESHTF_ACCEPT_REJECTED(sqrt)

}  // namespace v0
}  // namespace meshtf
