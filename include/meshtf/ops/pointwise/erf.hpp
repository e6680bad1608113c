// erf: the error function.
#pragma once

#include <cmath>

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct erf : smooth<1, 4> {
  static constexpr char const* name  = "erf";
  static constexpr algebra::use used = algebra::use::monotone;

  constexpr auto operator()(auto const& x) const {
    using std::erf;
    return erf(x);
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::exp;
    return rounded<V>(1.1283791670955126) * dz * exp(-(x * x));  // 2 / sqrt(pi)
  }
};

}  // namespace function

//= || x.erf() || lax.erf(x)
/// 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.
template<detail::FloatingOperand X>
constexpr auto erf(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::erf::used, X>>,
                "meshtf: erf needs a finished value: write erf(finish(x))");
  return detail::pointwise<function::erf>(x, at);
}

MESHTF_POINTWISE(erf)

}  // namespace v0
}  // namespace meshtf
