// A Transformer language model: decoder only, with each norm before its branch.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <meshtf/nn/blocks_in_turn.hpp>
#include <meshtf/nn/depth.hpp>
#include <meshtf/nn/embedding.hpp>
#include <meshtf/nn/feed_forward.hpp>
#include <meshtf/nn/incremental.hpp>
#include <meshtf/nn/kinds_of_positions.hpp>
#include <meshtf/nn/norm.hpp>
#include <meshtf/nn/recomputed_blocks.hpp>
#include <meshtf/nn/residual.hpp>
#include <meshtf/nn/self_attention.hpp>
#include <meshtf/nn/stack.hpp>
#include <meshtf/nn/twin.hpp>
#include <meshtf/ops/index/gather.hpp>
#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/normalise/cross_entropy.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// The dimensions of a Transformer. A model's own struct inherits them and may redefine the number of layers,
/// whether the softmax is tied, how positions enter (`learned_positions`, `no_positions`, or `sinusoids` of
/// nn/positions.hpp), which feed-forward layers blocks have (also `experts_in_every_second_block`), and the
/// standard deviation of the initial weights:
///
///     struct small : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
///       static constexpr int layers = 4;
///     };
template<Dimension Length, Dimension Vocab, Dimension Model, Dimension Heads, Dimension Key, Dimension Hidden>
struct transformer_dims {
  using length = Length;
  using vocab  = Vocab;
  using model  = Model;
  using heads  = Heads;
  using key    = Key;
  using hidden = Hidden;

  using positions    = learned_positions;
  using feed_forward = feed_forward_in_every_block;

  static constexpr int layers = 6;
  // a narrow model learns sooner with a larger one: about 0.7 / sqrt(model)
  static constexpr double stddev = 0.02;
  static constexpr bool tied     = true;  // the embedding's table also gives the scores
  // whether the model has a member `recomputed`, the number of its first blocks that are computed again in
  // the backward pass; without it, programs do not compile what that takes
  static constexpr bool recomputes = false;
  // the same for `spilled`, the number of the blocks after these whose values leave memory for a file
  static constexpr bool spills = false;
};

/// Self-attention and feed-forward: each works on the norm of the stream and is added to the stream. `Feed`
/// is the type of the last layer, also `mixture_of_experts`: what the block returns is then `routed`. Errors:
/// `gating_sees_later_tokens`. Source: Radford et al., Language Models are Unsupervised Multitask Learners
/// (2019), 2.3.
template<FloatingElement T, Layout L, class Dims,
         class Feed = feed_forward<T, L, typename Dims::model, typename Dims::hidden>>
struct transformer_block {
  using length       = typename Dims::length;
  using model        = typename Dims::model;
  using feed_verdict = typename detail::causal_feed<Feed>::type;
  static_assert(accepted<feed_verdict>, "meshtf: a block with causal attention can't have this gating");

  static constexpr int branch_count = 2;

  layer_norm<T, L, model> norm1;
  self_attention<T, L, length, model, typename Dims::heads, typename Dims::key> attention;
  layer_norm<T, L, model> norm2;
  Feed feed;

  constexpr transformer_block(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : norm1{m},
        attention{m, seeds, stddev, output_stddev},
        norm2{m},
        feed{m, seeds, stddev, output_stddev} {}

  template<class X>
  constexpr auto operator()(X const& before, expert_pass pass = {},
                            std::source_location at = std::source_location::current()) const {
    auto const r = first_norm(before);
    return branches(r.sum, attention(r.norm), [&](auto const& x) { return detail::fed(feed, x, pass, at); });
  }
  /// The same, and the keys and values of all positions.
  template<class X>
  constexpr auto prefill(X const& before, std::source_location at) const {
    auto const r = first_norm(before);
    auto seen    = attention.cache(r.norm, at);
    auto const a = attention.template attend<length>(r.norm, seen, {.causal = true}, at);
    auto result  = branches(r.sum, a, by_feed_without_drops(at));
    return detail::prefilled<decltype(result), decltype(seen)>{std::move(result), std::move(seen)};
  }
  /// The same of the positions `first` and following, which have the dimension `Step` in place of the
  /// length: `seen` holds keys and values of those before them, and gets theirs.
  template<Dimension Step, class X, class Cache>
  constexpr auto extend(X const& before, Cache& seen, extent first, std::source_location at) const {
    auto const r = first_norm(before);
    auto const a = attention.template extend<Step>(r.norm, seen, first, attention_options{}, at);
    return branches(r.sum, a, by_feed_without_drops(at));
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attention", attention), named("norm2", norm2),
                              named("feed_forward", feed));
  }

private:
  template<class X>
  constexpr auto first_norm(X const& x) const {
    auto normed = norm1(x);
    return detail::normed_stream<X, decltype(normed)>{x, std::move(normed)};
  }
  template<class X>
  constexpr auto first_norm(residual<X> const& before) const {
    return norm1(before.stream, before.branch);
  }
  constexpr auto by_feed_without_drops(std::source_location at) const {
    return [this, at](auto const& x) { return detail::fed_without_drops(feed, x, at); };
  }
  template<class X, class A, class ByFeed>
  constexpr auto branches(X const& x, A const& a, ByFeed const& by_feed) const {
    auto r       = norm2(x, a);
    auto const z = by_feed(r.norm);
    return detail::block_result(std::move(r.sum), detail::value_of(z), z);
  }
};

namespace detail {

/// The blocks of a transformer, with the feed-forward layers that the dimensions name.
template<class T, class L, class Dims>
using transformer_blocks = typename Dims::feed_forward::template blocks<
    transformer_block<T, L, Dims>,
    transformer_block<T, L, Dims, typename Dims::feed_forward::template layer<T, L, typename Dims::model>>>;

/// The layer that exists only if the softmax is not tied.
template<bool There, class Layer>
struct layer_if {
  Layer layer;
  template<class Initialiser>
  constexpr layer_if(auto& m, Initialiser const& initialiser) : layer{m, initialiser} {}
};
template<class Layer>
struct layer_if<false, Layer> {
  constexpr layer_if(auto&, auto const&) {}
};

}  // namespace detail

/// Scores for the next id at every position: embeddings of ids and of positions, `Dims::layers` blocks (or
/// `depth`), a last norm, and the product with the embedding (or, if not tied, with a matrix of its own).
///
/// `net(ids)` takes integer ids with `length` and any batch dimensions and returns scores with `vocab` as the
/// last dimension. One source serves every layout: split the batch for data parallelism, or `length`, where
/// keys and values are gathered; `heads`, `hidden`, `vocab` for model parallelism; `key` and (for speed)
/// `model` stay whole. All layers of a model have one type, so compile time does not depend on their number.
/// In mixed precision, `transformer<float, L, dims, bfloat16>`, all that is computed has elements of type
/// `Activation`: each weight is cast where it is used, and its gradient arrives in the weight's own type.
/// Initial values as in GPT-2: normal with `Dims::stddev`, divided by sqrt(2 layers) where a branch joins the
/// stream.
/// Source: Radford et al., Language Models are Unsupervised Multitask Learners (2019); Shazeer et al.,
/// Mesh-TensorFlow (2018), section 4, for the layouts.
template<FloatingElement T, Layout L, class Dims, FloatingElement Activation = T>
struct transformer : detail::recomputed_if<Dims::recomputes || Dims::spills>,
                     detail::spilled_if<Dims::spills> {
  using length = typename Dims::length;
  using vocab  = typename Dims::vocab;
  using model  = typename Dims::model;
  using block  = detail::transformer_blocks<T, L, Dims>;

private:
  using tokens_type    = embedding<T, L, vocab, model>;
  using positions_type = typename Dims::positions::template layer<T, L, length, model>;
  using norm_type      = layer_norm<T, L, model>;
  using output_type    = detail::layer_if<!Dims::tied, projection<T, L, model, vocab>>;

  static constexpr int last_stage = stage_count<L> - 1;
  static constexpr bool has_twin  = Dims::tied && is_staged<L>;

public:
  tokens_type tokens;
  positions_type positions;
  typename detail::blocks_of<block, Dims::layers>::type blocks;
  norm_type norm;
  output_type output;
  [[no_unique_address]] detail::twin_if<has_twin, T, L, vocab, model> table_of_last_stage;

  constexpr transformer(machine<L>& m, std::uint64_t seed) : transformer(m, streams{seed}) {}
  constexpr transformer(machine<L>& m, streams seeds) : transformer(m, detail::depth_of<Dims>(), seeds) {}
  constexpr transformer(machine<L>& m, depth d, std::uint64_t seed)
      : transformer(m, detail::depth_of<Dims>(d), streams{seed}) {}

  /// In a pass that trains layers of experts, it is told so: `net(ids, {.trains = true, .random = {run,
  /// pass}})`.
  template<class Ids>
  constexpr auto operator()(Ids const& ids, expert_pass pass = {},
                            std::source_location at = std::source_location::current()) const {
    auto const found = looked_up(ids);
    auto const x     = positions(found);
    auto const r     = through_all(x, pass, at);
    auto const& end  = detail::value_of(r);
    auto const last  = norm(end.stream, end.branch);
    return detail::with_value(scores(last.norm), r);
  }

  /// Reads a prompt: the scores of the id after position `last` of `ids`, along `next_position` and `vocab`,
  /// and the keys and values of all positions, for `extend`. Ids after `last` may be any of the vocabulary.
  ///
  ///     auto read = net.prefill(ids, 11);                       // of 12 ids
  ///     auto next = argmax<vocab>(read.scores);                 // [batch, next_position]
  ///     auto scores = net.extend<nn::next_position>(next, read.caches, 12);
  ///
  /// It costs a pass without gradients, of scores for one position alone. Keys and values are gathered along
  /// a split length, and stay split by the batch and by heads.
  template<Tensor Ids>
  constexpr auto prefill(Ids const& ids, extent last,
                         std::source_location at = std::source_location::current()) const {
    static_assert(!is_staged<L>, "meshtf: decoding step by step works under layouts without stages");
    no_gradient const guard{ids.machine()};
    auto const found  = looked_up(ids);
    auto const x      = positions(found);
    auto read         = detail::prefilled_through(blocks, x, at);
    auto const normed = norm(read.scores.stream, read.scores.branch);
    auto result       = scores(detail::one_position<length, model>(normed.norm, last, at));
    return read_prompt<decltype(result), typename decltype(read.caches)::value_type>{std::move(result),
                                                                                     std::move(read.caches)};
  }
  /// Scores after each of the positions `first` and following, whose `ids` have the dimension `Step` in place
  /// of the length. `caches` holds keys and values of those before them, and gets theirs. The scores are
  /// those of all positions at once. Errors: `software_error` for a position beyond the length.
  template<Dimension Step, Tensor Ids, class Cache>
  constexpr auto extend(Ids const& ids, std::vector<Cache>& caches, extent first,
                        std::source_location at = std::source_location::current()) const {
    static_assert(!is_staged<L>, "meshtf: decoding step by step works under layouts without stages");
    no_gradient const guard{ids.machine()};
    auto const places = iota<std::int32_t, L, Step>(ids.machine(), at) + static_cast<std::int32_t>(first);
    auto const found  = looked_up(ids);
    auto const x      = positions.add(found, places, at);
    auto const r      = detail::extended_through<Step>(blocks, x, caches, first, at);
    auto const last   = norm(r.stream, r.branch);
    return scores(last.norm);
  }

  constexpr auto parameters() {
    if constexpr (Dims::tied) return listed();
    else return listed(named("output", output.layer));
  }

private:
  constexpr transformer(machine<L>& m, depth d, streams seeds)
      : tokens(detail::made_at_stage<tokens_type, L>(m, 0, normal{seeds.next(), stddev})),
        positions(detail::made_at_stage<positions_type, L>(m, 0, normal{seeds.next(), stddev})),
        blocks(blocks_for(d, m, seeds)),
        norm(detail::made_at_stage<norm_type, L>(m, last_stage)),
        output(detail::made_at_stage<output_type, L>(m, last_stage, normal{seeds.next(), stddev})),
        table_of_last_stage(tokens.table) {}

  template<class... Last>
  constexpr auto listed(Last... last) {
    auto const rest = [&](auto... first) {
      return meshtf::parameters(first..., named("blocks", blocks), named("norm", norm), last...);
    };
    if constexpr (requires { positions.table; })
      return rest(named("tokens", tokens.table), named("positions", positions.table));
    else return rest(named("tokens", tokens.table));
  }

  template<class X>
  constexpr auto through_all(X const& x, [[maybe_unused]] expert_pass pass, std::source_location at) const {
    if constexpr (detail::is_in_turn<block>) return detail::through_in_turn<L>(blocks, x, pass, at);
    else if constexpr (Dims::spills)
      return detail::through_recomputed<L>(blocks, x, this->recomputed, this->spilled, at);
    else if constexpr (Dims::recomputes)
      return detail::through_recomputed<L>(blocks, x, this->recomputed, at);
    else return detail::through<L>(blocks, x, at);
  }

  template<class X>
  constexpr auto scores(X const& x) const {
    if constexpr (has_twin) return tokens_type::scores(x, *table_of_last_stage);
    else if constexpr (Dims::tied) return tokens.logits(x);
    else return output.layer(x);
  }

  template<class Ids>
  constexpr auto looked_up(Ids const& ids) const {
    if constexpr (std::is_same_v<Activation, T>) return tokens(ids);
    else return cast<Activation>(tokens(ids));
  }

  static constexpr auto blocks_for(depth d, machine<L>& m, streams& seeds) {
    double const output_stddev = detail::stddev_of_branches(stddev, d.layers);
    if constexpr (Dims::layers != any_depth)
      static_assert(accepted<cut_verdict<L, Dims::layers>>,
                    "meshtf: the stages of this layout do not cut the blocks");
    return detail::made_part_of<block, Dims::layers, L>({.before = 0, .all = d.layers}, d, m, seeds, stddev,
                                                        output_stddev);
  }

  static constexpr double stddev = Dims::stddev;
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
