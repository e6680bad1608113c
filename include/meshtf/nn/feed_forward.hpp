// The feed-forward part of a Transformer block.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/pointwise/bias_gelu.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// gelu(x up + b) down + c, from `Model` to `Hidden` and back. For model parallelism split `Hidden`: one
/// all-reduce forward, one backward.
/// Source: Shoeybi et al., Megatron-LM (2019), section 3.
template<FloatingElement T, Layout L, Dimension Model, Dimension Hidden>
struct feed_forward {
  linear<T, L, Model, Hidden> up;
  linear<T, L, Hidden, Model> down;

  constexpr feed_forward(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : up{m, normal{seeds.next(), stddev}}, down{m, normal{seeds.next(), output_stddev}} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const y = up.without_bias(x);
    auto const h = bias_gelu(y, detail::weight_for<X>(up.bias, at));
    return down(h);
  }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
