// Normalisation layers.
#pragma once

#include <meshtf/nn/weight.hpp>
#include <meshtf/ops/normalise/norm.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {
/// `meshtf::layer_norm` along `Along` with a trained scale, which starts at 1, and a trained bias, which
/// starts at 0.
template<FloatingElement T, Layout L, Dimension Along>
struct layer_norm {
  /// Of weights that are gathered together (`with_gathered_weights`): norms compute in wide elements.
  template<class E>
  using element_of_weights = computed<E>;

  kept_parameter<T, L, Along> scale;
  kept_parameter<T, L, Along> bias;
  double epsilon = 1e-5;

  constexpr explicit layer_norm(machine<L>& m) : scale{m, constant{1}}, bias{m} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return meshtf::layer_norm<Along>(x, detail::vector_for<X>(scale, at), detail::vector_for<X>(bias, at),
                                     epsilon, at);
  }
  /// `auto [sum, normed] = norm(x, y)`: x + y and its norm, in one pass.
  template<class X>
  constexpr auto operator()(X const& x, X const& y,
                            std::source_location at = std::source_location::current()) const {
    return residual_layer_norm<Along>(x, y, detail::vector_for<X>(scale, at), detail::vector_for<X>(bias, at),
                                      epsilon, at);
  }
  template<class X, class Y>
    requires meshtf::detail::AnyRejected<X, Y>
  constexpr residual_norm<rejected> operator()(X const&, Y const&) const {
    return {};
  }
  constexpr auto parameters() { return meshtf::parameters(named("scale", scale), named("bias", bias)); }
};

/// `meshtf::rms_norm` along `Along` with a trained scale that starts at 1.
template<FloatingElement T, Layout L, Dimension Along>
struct rms_norm {
  template<class E>
  using element_of_weights = computed<E>;

  kept_parameter<T, L, Along> scale;
  double epsilon = 1e-5;

  constexpr explicit rms_norm(machine<L>& m) : scale{m, constant{1}} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return meshtf::rms_norm<Along>(x, detail::vector_for<X>(scale, at), epsilon, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("scale", scale)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
