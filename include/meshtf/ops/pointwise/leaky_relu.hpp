// leaky_relu: x where x > 0, else a part of it.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct leaky_relu : bent<1, 1> {
  static constexpr char const* name = "leaky_relu";
  // it rises if the slope is not negative, which nobody knows here
  static constexpr algebra::use used = algebra::use::nonlinear;

  T slope;
  constexpr explicit leaky_relu(T s) : slope(s) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x > V(0), x, V(slope) * x);
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::select;
    return select(x > V(0), dz, select(x == x, V(slope) * dz, x));
  }
};

}  // namespace function

/// x where x > 0, else slope * x; the gradient at 0 is `slope`, and at NaN it is NaN. The slope is 0.01
/// unless it is given, as in PyTorch and JAX; in Mesh TensorFlow it is 0.2. Source: Maas, Hannun, Ng,
/// Rectifier Nonlinearities (2013).
template<detail::FloatingOperand X, Number N = double>
constexpr auto leaky_relu(X const& x, N slope = 0.01,
                          std::source_location at = std::source_location::current()) {
  using T = computed<detail::element_in<X>>;
  static_assert(accepted<detail::use_verdict<function::leaky_relu<T>::used, X>>,
                "meshtf: leaky_relu needs a finished value: write leaky_relu(finish(x))");
  return detail::pointwise(function::leaky_relu<T>{static_cast<T>(slope)}, x, at);
}

MESHTF_POINTWISE_OF(leaky_relu)

}  // namespace v0
}  // namespace meshtf
