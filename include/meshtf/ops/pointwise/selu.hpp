// selu: the scaled exponential linear unit.
#pragma once

#include <meshtf/ops/pointwise/expm1.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// Source of the constants: Klambauer and others, Self-Normalizing Neural Networks (2017).
inline constexpr double selu_scale = 1.0507009873554804934193349852946;
inline constexpr double selu_alpha = 1.6732632423543772848170429916717;

struct selu : bent<3, 2> {
  static constexpr char const* name  = "selu";
  static constexpr algebra::use used = algebra::use::monotone;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x > V(0), rounded<V>(selu_scale) * x, rounded<V>(selu_scale * selu_alpha) * expm1{}(x));
  }
  template<class V>
  constexpr V gradient_by_result(V const& dz, V const& z) const {
    using math::select;
    return dz * select(z > V(0), rounded<V>(selu_scale), z + rounded<V>(selu_scale * selu_alpha));
  }
};

}  // namespace function

//= mtf.selu(x) || F.selu(x) || jax.nn.selu(x)
/// 1.0507 x where x > 0, else 1.0507 * 1.6733 (exp(x) - 1). Source: Klambauer and others, Self-Normalizing
/// Neural Networks (2017).
template<detail::FloatingOperand X>
constexpr auto selu(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::selu::used, X>>,
                "meshtf: selu needs a finished value: write selu(finish(x))");
  return detail::pointwise<function::selu>(x, at);
}

MESHTF_POINTWISE(selu)

}  // namespace v0
}  // namespace meshtf
