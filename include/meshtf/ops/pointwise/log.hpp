// log: the natural logarithm.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct log : smooth_of_positive<1, 1> {
  static constexpr char const* name  = "log";
  static constexpr algebra::use used = algebra::use::monotone;

  constexpr auto operator()(auto const& x) const {
    using math::log;
    return log(x);
  }
  constexpr auto gradient_by_operand(auto const& dz, auto const& x) const { return dz / x; }
};

}  // namespace function

//= mtf.log(x) || x.log() || jnp.log(x)
/// The natural logarithm.
template<detail::FloatingOperand X>
constexpr auto log(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::log::used, X>>,
                "meshtf: log needs a finished value: write log(finish(x))");
  return detail::pointwise<function::log>(x, at);
}

MESHTF_POINTWISE(log)

}  // namespace v0
}  // namespace meshtf
