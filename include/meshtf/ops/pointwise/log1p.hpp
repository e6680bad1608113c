// log1p: log(1 + x), exact also for small x.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct log1p : smooth_of_positive<2, 2> {
  static constexpr char const* name  = "log1p";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::log1p;
    using math::select;
    return select(x == V(0), x, log1p(x));  // of -0 xsimd makes 0
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    return dz / (V(1) + x);
  }
};

}  // namespace function

//= || x.log1p() || jnp.log1p(x)
/// log(1 + x), exact also for small x.
template<detail::FloatingOperand X>
constexpr auto log1p(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::log1p::used, X>>,
                "meshtf: log1p needs a finished value: write log1p(finish(x))");
  return detail::pointwise<function::log1p>(x, at);
}

MESHTF_POINTWISE(log1p)

}  // namespace v0
}  // namespace meshtf
