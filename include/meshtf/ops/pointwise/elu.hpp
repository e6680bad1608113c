// elu: the exponential linear unit.
#pragma once

#include <meshtf/ops/pointwise/expm1.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct elu_gradient;

template<class T>
struct elu : of_elements<3> {
  static constexpr char const* name = "elu";
  // it rises if alpha is not negative, which nobody knows here
  static constexpr algebra::use used = algebra::use::nonlinear;
  using gradient                     = by_operand<elu_gradient<T>>;

  T alpha;
  constexpr explicit elu(T a) : alpha(a) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x > V(0), x, V(alpha) * expm1{}(x));
  }
};

template<class T>
struct elu_gradient : of_elements<3> {
  T alpha;
  constexpr explicit elu_gradient(elu<T> const& f) : alpha(f.alpha) {}
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    using math::exp;
    using math::select;
    return select(x > V(0), dz, dz * V(alpha) * exp(x));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_OF(1, function::elu)
MESHTF_COMPILE_MAP_OF(2, function::elu_gradient)

/// x where x > 0, else alpha * (exp(x) - 1). Source: Clevert, Unterthiner, Hochreiter, Exponential Linear
/// Units (2015).
template<detail::FloatingOperand X, Number N = double>
constexpr auto elu(X const& x, N alpha = 1, std::source_location at = std::source_location::current()) {
  using T = computed<detail::element_in<X>>;
  static_assert(accepted<detail::use_verdict<function::elu<T>::used, X>>,
                "meshtf: elu needs a finished value: write elu(finish(x))");
  return detail::pointwise(function::elu<T>{static_cast<T>(alpha)}, x, at);
}

MESHTF_ACCEPT_REJECTED(elu)

}  // namespace v0
}  // namespace meshtf
