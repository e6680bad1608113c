// elu: the exponential linear unit.
#pragma once

#include <meshtf/ops/pointwise/expm1.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct elu : bent<3, 3> {
  static constexpr char const* name = "elu";
  // it rises if alpha is not negative, which nobody knows here
  static constexpr algebra::use used = algebra::use::nonlinear;

  T alpha;
  constexpr explicit elu(T a) : alpha(a) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x > V(0), x, V(alpha) * expm1{}(x));
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::exp;
    using math::select;
    return select(x > V(0), dz, dz * V(alpha) * exp(x));
  }
};

}  // namespace function

/// x where x > 0, else alpha * (exp(x) - 1). Source: Clevert, Unterthiner, Hochreiter, Exponential Linear
/// Units (2015).
template<detail::FloatingOperand X, Number N = double>
constexpr auto elu(X const& x, N alpha = 1, std::source_location at = std::source_location::current()) {
  using T = computed<detail::element_in<X>>;
  static_assert(accepted<detail::use_verdict<function::elu<T>::used, X>>,
                "meshtf: elu needs a finished value: write elu(finish(x))");
  return detail::pointwise(function::elu<T>{static_cast<T>(alpha)}, x, at);
}

MESHTF_POINTWISE_OF(elu)

}  // namespace v0
}  // namespace meshtf
