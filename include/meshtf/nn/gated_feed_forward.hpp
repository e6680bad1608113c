// Gated feed-forward layers: GLU, GEGLU, SwiGLU.
#pragma once

#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/pointwise/gelu.hpp>
#include <meshtf/ops/pointwise/sigmoid.hpp>
#include <meshtf/ops/pointwise/silu.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// A gate that is opened by a sigmoid. The names of gates are those of the layers in Shazeer (2020).
struct glu {
  static constexpr auto open(auto const& x, std::source_location at) { return sigmoid(x, at); }
};
/// A gate that is opened by gelu.
struct geglu {
  static constexpr auto open(auto const& x, std::source_location at) { return gelu(x, at); }
};
/// A gate that is opened by silu, which is called swish too.
struct swiglu {
  static constexpr auto open(auto const& x, std::source_location at) { return silu(x, at); }
};

/// (open(x gate) * (x up)) down, without biases, from `Model` to `Hidden` and back. For model parallelism
/// split `Hidden`: one all-reduce forward, one backward.
/// Source: Shazeer, GLU Variants Improve Transformer (2020).
template<FloatingElement T, Layout L, Dimension Model, Dimension Hidden, class Gate = swiglu>
struct gated_feed_forward {
  projection<T, L, Model, Hidden> gate;
  projection<T, L, Model, Hidden> up;
  projection<T, L, Hidden, Model> down;

  constexpr gated_feed_forward(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : gate{m, normal{seeds.next(), stddev}},
        up{m, normal{seeds.next(), stddev}},
        down{m, normal{seeds.next(), output_stddev}} {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    auto const g = gate(x, at);
    auto const y = up(x, at);
    return down(Gate::open(g, at) * y, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("gate", gate), named("up", up), named("down", down));
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
