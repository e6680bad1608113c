// log: the natural logarithm.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct log_gradient : of_elements<1> {
  constexpr auto operator()(auto const& dz, auto const& x) const { return dz / x; }
};

struct log : of_elements<1> {
  static constexpr char const* name  = "log";
  static constexpr algebra::use used = algebra::use::monotone;
  using gradient                     = by_operand<log_gradient>;

  constexpr auto operator()(auto const& x) const {
    using math::log;
    return log(x);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(1, function::log)
MESHTF_COMPILE_MAP(2, function::log_gradient)

/// The natural logarithm.
template<detail::FloatingOperand X>
constexpr auto log(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::log::used, X>>,
                "meshtf: log needs a finished value: write log(finish(x))");
  return detail::pointwise<function::log>(x, at);
}

MESHTF_ACCEPT_REJECTED(log)

}  // namespace v0
}  // namespace meshtf
