// logaddexp: log(exp(x) + exp(y)), without overflow.
#pragma once

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct exp_of_first : of_elements<6> {  // dz times the part that x has in the sum
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    using math::exp;
    using math::select;
    return dz * select(x == y, V(0.5), V(1) / (V(1) + exp(y - x)));
  }
};
struct exp_of_second : of_elements<6> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    return exp_of_first{}(dz, y, x);
  }
};

struct logaddexp : of_elements<6> {
  static constexpr char const* name       = "logaddexp";
  static constexpr algebra::meeting meets = algebra::meeting::nonlinear;
  static constexpr algebra::use used      = algebra::use::monotone;
  using gradient                          = by_operands<exp_of_first, exp_of_second>;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::abs;
    using math::exp;
    using math::log1p;
    using math::select;
    V const larger = select(x > y, x, select(x == x, y, x));
    // of two infinities too
    return larger + select(x == y, rounded<V>(0.6931471805599453), log1p(exp(-abs(x - y))));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(2, function::logaddexp)
MESHTF_COMPILE_MAP(3, function::exp_of_first)
MESHTF_COMPILE_MAP(3, function::exp_of_second)

//= || torch.logaddexp(x, y) || jnp.logaddexp(x, y) || logaddexp(x, y)
/// log(exp(x) + exp(y)), which neither overflows nor loses digits. Two tensors, broadcast to one another, or
/// a tensor and a number. Nothing is sent. The gradients are unreduced over the axes of the dimensions that
/// their operand lacks.
template<class X, class Y>
  requires detail::FloatingAndOther<X, Y>
constexpr auto logaddexp(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::logaddexp, X, Y>>,
                "meshtf: logaddexp needs a finished value: write logaddexp(finish(x), y)");
  return detail::pointwise<function::logaddexp>(x, y, at);
}

MESHTF_ACCEPT_REJECTED(logaddexp)

}  // namespace v0
}  // namespace meshtf
