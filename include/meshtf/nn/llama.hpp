// A language model of the Llama family: rotary positions, grouped queries, SwiGLU, RMS norms, no biases.
#pragma once

#include <utility>
#include <vector>

#include <meshtf/nn/gated_feed_forward.hpp>
#include <meshtf/nn/grouped_attention.hpp>
#include <meshtf/nn/transformer.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// The dimensions of such a model, with `Groups` times `Each` heads. A model's own struct inherits them, as
/// with `transformer_dims`.
template<Dimension Length, Dimension Vocab, Dimension Model, Dimension Groups, Dimension Each, Dimension Key,
         Dimension Hidden>
struct llama_dims {
  using length = Length;
  using vocab  = Vocab;
  using model  = Model;
  using groups = Groups;
  using each   = Each;
  using key    = Key;
  using hidden = Hidden;

  static constexpr int layers    = 6;
  static constexpr double stddev = 0.02;
  static constexpr bool tied     = false;
};

/// Attention and feed-forward: each works on the norm of the stream and is added to the stream.
template<FloatingElement T, Layout L, class Dims>
struct llama_block {
  using model = typename Dims::model;

  rms_norm<T, L, model> norm1;
  grouped_attention<T, L, typename Dims::length, model, typename Dims::groups, typename Dims::each,
                    typename Dims::key>
      attention;
  rms_norm<T, L, model> norm2;
  gated_feed_forward<T, L, model, typename Dims::hidden, swiglu> feed;

  constexpr llama_block(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : norm1{m},
        attention{m, seeds, stddev, output_stddev},
        norm2{m},
        feed{m, seeds, stddev, output_stddev} {}

  template<class X>
  constexpr auto operator()(X const& x) const {
    auto const y = x + attention(norm1(x));
    return y + feed(norm2(y));
  }
  /// The same, and the keys and values of all positions.
  template<class X>
  constexpr auto prefill(X const& x, std::source_location at) const {
    auto const normed = norm1(x);
    auto seen         = attention.cache(normed, at);
    auto const y      = x + attention.template attend<typename Dims::length>(normed, seen, 0, at);
    auto result       = y + feed(norm2(y));
    return detail::prefilled<decltype(result), decltype(seen)>{std::move(result), std::move(seen)};
  }
  /// The same of the positions `first` and following, which have the dimension `Step` in place of the
  /// length: `seen` holds keys and values of those before them, and gets theirs.
  template<Dimension Step, class X, class Cache>
  constexpr auto extend(X const& x, Cache& seen, extent first, std::source_location at) const {
    auto const y = x + attention.template extend<Step>(norm1(x), seen.keys, seen.values, first, at);
    return y + feed(norm2(y));
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attention", attention), named("norm2", norm2),
                              named("feed_forward", feed));
  }
};

/// Scores for the next id at every position, as those of `transformer`: split the batch for data parallelism;
/// `groups`, `hidden` and `vocab` for model parallelism.
/// Source: Touvron et al., Llama 2 (2023), 2.2.
template<FloatingElement T, Layout L, class Dims, FloatingElement Activation = T>
struct llama {
  using length = typename Dims::length;
  using vocab  = typename Dims::vocab;
  using model  = typename Dims::model;
  using block  = llama_block<T, L, Dims>;

private:
  using tokens_type = embedding<T, L, vocab, model>;
  using norm_type   = rms_norm<T, L, model>;
  using output_type = detail::layer_if<!Dims::tied, projection<T, L, model, vocab>>;

  static constexpr int last_stage = stage_count<L> - 1;
  static constexpr bool has_twin  = Dims::tied && is_staged<L>;

public:
  tokens_type tokens;
  typename detail::blocks_of<block, Dims::layers>::type blocks;
  norm_type norm;
  output_type output;
  [[no_unique_address]] detail::twin_if<has_twin, T, L, vocab, model> table_of_last_stage;

  constexpr llama(machine<L>& m, std::uint64_t seed) : llama(m, streams{seed}) {}
  constexpr llama(machine<L>& m, streams seeds) : llama(m, detail::depth_of<Dims>(), seeds) {}
  constexpr llama(machine<L>& m, depth d, std::uint64_t seed)
      : llama(m, detail::depth_of<Dims>(d), streams{seed}) {}

  template<class Ids>
  constexpr auto operator()(Ids const& ids) const {
    auto const found = looked_up(ids);
    return scores(norm(detail::through<L>(blocks, found, std::source_location::current())));
  }

  /// Reads a prompt, as `transformer::prefill`.
  template<Tensor Ids>
  constexpr auto prefill(Ids const& ids, extent last,
                         std::source_location at = std::source_location::current()) const {
    static_assert(!is_staged<L>, "meshtf: decoding step by step works under layouts without stages");
    no_gradient const guard{ids.machine()};
    auto const found  = looked_up(ids);
    auto read         = detail::prefilled_through(blocks, found, at);
    auto const normed = norm(read.scores);
    auto result       = scores(detail::one_position<length, model>(normed, last, at));
    return read_prompt<decltype(result), typename decltype(read.caches)::value_type>{std::move(result),
                                                                                     std::move(read.caches)};
  }
  /// Scores after each of the positions `first` and following, as `transformer::extend`.
  template<Dimension Step, Tensor Ids, class Cache>
  constexpr auto extend(Ids const& ids, std::vector<Cache>& caches, extent first,
                        std::source_location at = std::source_location::current()) const {
    static_assert(!is_staged<L>, "meshtf: decoding step by step works under layouts without stages");
    no_gradient const guard{ids.machine()};
    auto const found = looked_up(ids);
    return scores(norm(detail::extended_through<Step>(blocks, found, caches, first, at)));
  }

  constexpr auto parameters() {
    if constexpr (Dims::tied)
      return meshtf::parameters(named("tokens", tokens.table), named("blocks", blocks), named("norm", norm));
    else
      return meshtf::parameters(named("tokens", tokens.table), named("blocks", blocks), named("norm", norm),
                                named("output", output.layer));
  }

private:
  constexpr llama(machine<L>& m, depth d, streams seeds)
      : tokens(detail::made_at_stage<tokens_type, L>(m, 0, normal{seeds.next(), stddev})),
        blocks(blocks_for(d, m, seeds)),
        norm(detail::made_at_stage<norm_type, L>(m, last_stage)),
        output(detail::made_at_stage<output_type, L>(m, last_stage, normal{seeds.next(), stddev})),
        table_of_last_stage(tokens.table) {}

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
    double const output_stddev = stddev / math::sqrt(2.0 * d.layers);
    return detail::made_blocks<block, Dims::layers, L>(d, m, seeds, stddev, output_stddev);
  }

  static constexpr double stddev = Dims::stddev;
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
