// Causal multi-head self-attention.
#pragma once

#include <meshtf/nn/attention_along.hpp>
#include <meshtf/nn/linear.hpp>
#include <meshtf/nn/streams.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Each position along `Length` sees itself and the positions before it, with `Heads` heads of `Key` elements each. `options` may say otherwise:
/// `attends(x, {.causal = true, .dropout = 0.1, .random = key})`. x and the result have `Length` and `Model`. For model parallelism split `Heads`:
/// queries, keys and values need no message, the projection back to `Model` needs one all-reduce; backward, the gradients of x through all three
/// share one. Where `Length` is split, keys and values are gathered (`attention_along`).
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2; Shoeybi et al., Megatron-LM (2019), section 3.
template<FloatingElement T, Layout L, Dimension Length, Dimension Model, Dimension Heads, Dimension Key>
struct self_attention {
  linear<T, L, Model, shape<Heads, Key>> query, key, value;
  linear<T, L, shape<Heads, Key>, Model> output;

  /// Weights start normally distributed with `stddev`, those of the projection back with `output_stddev`.
  constexpr self_attention(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : query{m, normal{seeds.next(), stddev}},
        key{m, normal{seeds.next(), stddev}},
        value{m, normal{seeds.next(), stddev}},
        output{m, normal{seeds.next(), output_stddev}} {}

  template<class X>
  constexpr auto operator()(X const& x, attention_options options = {.causal = true}) const {
    auto const q = query(x);
    auto const k = key(x);
    auto const v = value(x);
    auto const z = attention_along<Length, Key>(q, k, v, options);
    return output(z);
  }
  constexpr auto parameters() { return meshtf::parameters(named("query", query), named("key", key), named("value", value), named("output", output)); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
