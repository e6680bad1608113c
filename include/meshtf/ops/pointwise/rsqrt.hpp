// rsqrt: 1 / sqrt(x)
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct rsqrt_gradient : of_elements<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& z) const {
    return V(-0.5) * dz * z * z * z;
  }
};

struct rsqrt : of_elements<2> {
  static constexpr char const* name  = "rsqrt";
  static constexpr algebra::use used = algebra::use::rsqrt;
  using gradient                     = by_result<rsqrt_gradient>;

  constexpr auto operator()(auto const& x) const { return math::reciprocal_sqrt(x); }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::rsqrt)
MESHTF_COMPILE_MAP(2, function::rsqrt_gradient)

/// 1 / sqrt(x)
template<detail::FloatingOperand X>
constexpr auto rsqrt(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::rsqrt::used, X>>,
                "meshtf: rsqrt needs a finished value: write rsqrt(finish(x))");
  return detail::pointwise<function::rsqrt>(x, at);
}

MESHTF_ACCEPT_REJECTED(rsqrt)

}  // namespace v0
}  // namespace meshtf
