// The encoder of a Transformer: blocks in which each position sees all others, with each norm before its
// branch.
#pragma once

#include <utility>

#include <meshtf/nn/attention.hpp>
#include <meshtf/nn/blocks_with_norm.hpp>
#include <meshtf/nn/feed_forward.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Self-attention and feed-forward: each works on the norm of the stream, and is added to the stream after
/// dropout. `Feed` is the type of its last layer, also `mixture_of_experts`: what the block returns is then
/// `routed`.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.1 and 5.4; Xiong et al., On Layer
/// Normalization in the Transformer Architecture (2020), for the place of the norms.
template<FloatingElement T, Layout L, Dimension Length, Dimension Model, Dimension Heads, Dimension Key,
         Dimension Hidden, class Feed = feed_forward<T, L, Model, Hidden>>
struct encoder_block {
  static constexpr int branch_count = 2;

  layer_norm<T, L, Model> norm1;
  nn::attention<T, L, Model, Heads, Key, Length> attention;
  layer_norm<T, L, Model> norm2;
  Feed feed;

  constexpr encoder_block(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : norm1{m},
        attention{m, seeds, stddev, output_stddev},
        norm2{m},
        feed{m, seeds, stddev, output_stddev} {}

  template<class X, class Terms>
  constexpr auto operator()(X const& x, Terms const& terms, dropout_options drops,
                            std::source_location at = std::source_location::current()) const {
    auto const normed = norm1(x);
    return branches(x, normed, terms, drops, at);
  }
  template<class X, class Terms>
  constexpr auto operator()(residual<X> const& before, Terms const& terms, dropout_options drops,
                            std::source_location at = std::source_location::current()) const {
    auto const r = norm1(before.stream, before.branch);
    return branches(r.sum, r.norm, terms, drops, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attention", attention), named("norm2", norm2),
                              named("feed_forward", feed));
  }

private:
  template<class X, class Normed, class Terms>
  constexpr auto branches(X const& x, Normed const& normed, Terms const& terms, dropout_options const& drops,
                          std::source_location at) const {
    auto const a =
        detail::after_dropout(attention(normed, terms, drops.part(2).of_attention(), at), drops.part(0), at);
    auto r       = norm2(x, a);
    auto const z = detail::fed_after(terms, feed, r.norm, drops.part(5).of_experts(), at);
    auto f       = detail::after_dropout(detail::value_of(z), drops.part(1), at);
    return detail::block_result(std::move(r.sum), std::move(f), z);
  }
};

namespace detail {

/// The blocks of an encoder, with the feed-forward layers that `Feeds` names.
template<class Feeds, class T, class L, class Length, class Model, class Heads, class Key, class Hidden>
using encoder_blocks = typename Feeds::template blocks<
    encoder_block<T, L, Length, Model, Heads, Key, Hidden>,
    encoder_block<T, L, Length, Model, Heads, Key, Hidden, typename Feeds::template layer<T, L, Model>>>;

}  // namespace detail

/// `Layers` such blocks, or `depth` of them, and a last norm. x and the result have `Length` and `Model`, and
/// any batch dimensions.
///
///     nn::encoder<float, L, 6, source, model, heads, key, hidden> encodes{m, seeds, 0.03};
///     auto encoded = encodes(x, with_segments(ids));   // or with_mask(visible), or x alone
///
/// For model parallelism split `Heads` and `Hidden`, for data parallelism a batch dimension. `Length` may be
/// split, where keys and values are gathered; `Key` and (for speed) `Model` stay whole.
/// Weights start normally distributed with `stddev`, which is divided by sqrt(2 layers) where a branch joins
/// the stream. Dropout applies to what each branch adds, and to weights of attention. With `recompute_blocks`
/// set, each block is computed again in the backward pass. With `Layers` = `any_depth` the depth is told:
/// `encodes{m, nn::depth{n}, seeds, 0.03}`; it is at least 1, else `software_error`. With
/// `experts_in_every_second_block` as `Feeds`, the result is `routed`.
template<FloatingElement T, Layout L, int Layers, Dimension Length, Dimension Model, Dimension Heads,
         Dimension Key, Dimension Hidden, class Feeds = feed_forward_in_every_block>
struct encoder
    : detail::blocks_with_norm<detail::encoder_blocks<Feeds, T, L, Length, Model, Heads, Key, Hidden>, Layers,
                               T, L, Model> {
  using base =
      detail::blocks_with_norm<detail::encoder_blocks<Feeds, T, L, Length, Model, Heads, Key, Hidden>, Layers,
                               T, L, Model>;
  using base::base;

  template<class X>
  constexpr auto operator()(X const& x, dropout_options drops = {},
                            std::source_location at = std::source_location::current()) const {
    return (*this)(x, detail::all_visible, drops, at);
  }
  /// With terms of attention that hide positions, or add to their scores.
  template<class X, class... Terms>
  constexpr auto operator()(X const& x, meshtf::detail::attention_terms<Terms...> const& terms,
                            dropout_options drops   = {},
                            std::source_location at = std::source_location::current()) const {
    return this->through(x, drops, at, terms);
  }
  template<class X, class Terms>
    requires meshtf::detail::AnyRejected<X, Terms>
  constexpr rejected operator()(X const&, Terms const&, dropout_options = {},
                                std::source_location = {}) const {
    return {};
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
