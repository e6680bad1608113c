// sign: -1, 0 or 1.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct sign : of_elements<2> {
  static constexpr char const* name  = "sign";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x > V(0), V(1), select(x < V(0), V(-1), x));  // in this order a NaN passes through
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::sign)

//= mtf.sign(x) || x.sign() || jnp.sign(x)
/// -1, 0 or 1; -0 and NaN stay what they are. No gradient.
template<detail::NumberOperand X>
constexpr auto sign(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::sign::used, X>>,
                "meshtf: sign needs a finished value: write sign(finish(x))");
  return detail::pointwise<function::sign>(x, at);
}

MESHTF_ACCEPT_REJECTED(sign)

}  // namespace v0
}  // namespace meshtf
