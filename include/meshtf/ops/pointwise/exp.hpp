// exp: e to the power of x.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct exp : of_elements<1> {
  static constexpr char const* name  = "exp";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_result<times>;

  constexpr auto operator()(auto const& x) const {
    using math::exp;
    return exp(x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::exp)

/// e to the power of x.
template<detail::FloatingOperand X>
constexpr auto exp(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::exp::used, X>>,
                "meshtf: exp needs a finished value: write exp(finish(x))");
  return detail::pointwise<function::exp>(x, at);
}

MESHTF_ACCEPT_REJECTED(exp)

}  // namespace v0
}  // namespace meshtf
