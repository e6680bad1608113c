// Causal multi-head self-attention.
#pragma once

#include <meshtf/nn/attention.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Each position along `Length` sees itself and the positions before it, with `Heads` heads of `Key` elements
/// each. `options` may say otherwise: `attends(x, {.causal = true, .dropout = 0.1, .random = key})`. x and
/// the result have `Length` and `Model`. It is `attention` without a memory of its own, and has its cache for
/// incremental decoding:
///
///     auto cache = attends.template empty_cache<batch>(m);
///     auto y     = attends.template extend<step>(x, cache, first);
///
/// For model parallelism split `Heads`: queries, keys and values need no message, the projection back to
/// `Model` needs one all-reduce; backward, the gradients of x through all three share one. Where `Length` is
/// split, keys and values are gathered (`attention_along`).
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2; Shoeybi et al., Megatron-LM (2019), section
/// 3.
template<FloatingElement T, Layout L, Dimension Length, Dimension Model, Dimension Heads, Dimension Key>
struct self_attention : attention<T, L, Model, Heads, Key, Length> {
  using base = attention<T, L, Model, Heads, Key, Length>;

  /// Weights start normally distributed with `stddev`, those of the projection back with `output_stddev`.
  constexpr self_attention(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : base{m, seeds, stddev, output_stddev} {}

  template<class X>
  constexpr auto operator()(X const& x, attention_options options = {.causal = true}) const {
    auto const q = this->query(x);
    auto const k = this->key(x);
    auto const v = this->value(x);
    auto const z = attention_along<Length, Key>(q, k, v, options);
    return this->output(z);
  }
  /// With segment ids, a bias or a mask: `attends(x, with_segments(ids))`.
  template<class X, class... Terms>
  constexpr auto operator()(X const& x, meshtf::detail::attention_terms<Terms...> const& terms,
                            attention_options options = {.causal = true},
                            std::source_location at   = std::source_location::current()) const {
    return static_cast<base const&>(*this)(x, terms, options, at);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
