// The layer group_norm.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/ops/normalise/group_norm.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// `meshtf::group_norm` along `Along...` with a trained scale, which starts at 1, and a trained bias, which
/// starts at 0, of the dimensions `Channels` (a dimension or a `shape` of several):
/// `group_norm<float, L, shape<group, member>, height, width, member>`.
template<FloatingElement T, Layout L, class Channels, Dimension... Along>
struct group_norm {
  using channels = detail::shape_of<Channels>;
  template<class E>
  using element_of_weights = computed<E>;

  detail::parameter_of<T, L, channels> scale;
  detail::parameter_of<T, L, channels> bias;
  double epsilon = 1e-5;

  constexpr explicit group_norm(machine<L>& m) : scale{m, constant{1}}, bias{m} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return meshtf::group_norm<Along...>(x, detail::vector_for<X>(scale, at), detail::vector_for<X>(bias, at),
                                        epsilon, at);
  }
  constexpr auto parameters() { return meshtf::parameters(named("scale", scale), named("bias", bias)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
