// rsqrt: 1 / sqrt(x)
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct rsqrt : smooth_of_positive<2, 4> {
  static constexpr char const* name  = "rsqrt";
  static constexpr algebra::use used = algebra::use::rsqrt;

  constexpr auto operator()(auto const& x) const { return math::reciprocal_sqrt(x); }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    return V(-0.5) * dz * z * z * z;
  }
};

}  // namespace function

//= mtf.rsqrt(x) || x.rsqrt() || lax.rsqrt(x)
/// 1 / sqrt(x)
template<detail::FloatingOperand X>
constexpr auto rsqrt(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::rsqrt::used, X>>,
                "meshtf: rsqrt needs a finished value: write rsqrt(finish(x))");
  return detail::pointwise<function::rsqrt>(x, at);
}

MESHTF_POINTWISE(rsqrt)

}  // namespace v0
}  // namespace meshtf
