// expm1: exp(x) - 1, exact also for small x.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct expm1 : smooth<2, 2> {
  static constexpr char const* name  = "expm1";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::expm1;
    using math::select;
    return select(x == V(0), x, expm1(x));  // of -0 xsimd makes 0
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    return dz * (z + V(1));
  }
};

}  // namespace function

//= || x.expm1() || jnp.expm1(x)
/// exp(x) - 1, exact also for small x.
template<detail::FloatingOperand X>
constexpr auto expm1(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::expm1::used, X>>,
                "meshtf: expm1 needs a finished value: write expm1(finish(x))");
  return detail::pointwise<function::expm1>(x, at);
}

MESHTF_POINTWISE(expm1)

}  // namespace v0
}  // namespace meshtf
