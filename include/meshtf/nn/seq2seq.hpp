// An encoder and a decoder that learn pairs of sequences, such as sentences and their translations.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <meshtf/nn/decoder.hpp>
#include <meshtf/nn/sampling.hpp>
#include <meshtf/nn/segments.hpp>
#include <meshtf/nn/sequence_pairs.hpp>
#include <meshtf/nn/twin.hpp>
#include <meshtf/ops/normalise/cross_entropy.hpp>
#include <meshtf/ops/pointwise/logical.hpp>
#include <meshtf/ops/reduce/any_all.hpp>
#include <meshtf/ops/reduce/argmax.hpp>
#include <meshtf/ops/shape/finish.hpp>
#include <meshtf/ops/shape/write.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// The dimensions of an encoder and a decoder: of the positions of sources and of targets, and those of the
/// model. A model's own struct inherits them and may redefine the numbers of layers (or leave them open,
/// `any_depth`), how positions enter (`sinusoids`, `learned_positions`, `no_positions`), which feed-forward
/// layers blocks have (also `experts_in_every_second_block`), and the standard deviation of the initial
/// weights:
///
///     struct small : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {
///       static constexpr int encoder_layers = 3;
///       static constexpr int decoder_layers = 3;
///     };
template<Dimension Source, Dimension Target, Dimension Vocab, Dimension Model, Dimension Heads, Dimension Key,
         Dimension Hidden>
struct seq2seq_dims {
  using source = Source;
  using target = Target;
  using vocab  = Vocab;
  using model  = Model;
  using heads  = Heads;
  using key    = Key;
  using hidden = Hidden;

  using positions    = sinusoids;
  using feed_forward = feed_forward_in_every_block;

  static constexpr int encoder_layers = 6;
  static constexpr int decoder_layers = 6;
  static constexpr double stddev      = 0.7 / math::sqrt(static_cast<double>(Model::size));
};

/// How `seq2seq::loss` is computed. Evaluation has none of them; training often has `{.dropout = {0.1, {.seed
/// = run, .stream = pass}}, .terms = {.label_smoothing = 0.1, .z_loss = 1e-4}}`.
struct seq2seq_loss_options {
  dropout_options dropout{};
  cross_entropy_options terms{};
};

namespace detail {

/// The depths of both sides, as verdicts of depth name them.
template<class Dims>
struct encoder_of {
  static constexpr int layers = Dims::encoder_layers;
};
template<class Dims>
struct decoder_of {
  static constexpr int layers = Dims::decoder_layers;
};

}  // namespace detail

/// An encoder of sources and a decoder that gives scores for each next id of the targets. One table embeds
/// the ids of both sides, times sqrt(model), and gives the scores. Positions begin anew in each sequence.
///
///     nn::seq2seq<float, L, dims> net{m, 1};
///     auto part = [&](extent i) { return pairs.part<batch, quarter>(i); };
///     auto loss = accumulate<4>(m, [&](extent i) { return net.loss(part(i)); },    // a sum over targets,
///                                  [&](extent i) { return net.count(part(i)); });  // of unequal numbers
///
/// One source serves every layout: split a batch dimension for data parallelism, or the positions, where keys
/// and values are gathered; `heads`, `hidden`, `vocab` for model parallelism; `key` and (for speed) `model`
/// stay whole. Stages are cut from the blocks of both, those of the encoder first; what the encoder returns
/// is handed on to all stages of the decoder. In mixed precision, `seq2seq<float, L, dims, bfloat16>`, all
/// that is computed has elements of type `Activation`.
/// Dropout applies to embeddings with their positions, to what each branch adds, and to weights of attention.
/// `net.encoder.recompute_blocks = net.decoder.recompute_blocks = true` keeps less for the backward pass.
/// With layers of experts, scores, an encoder's result and the loss are `routed`: they have `value` and what
/// the layers of experts said.
/// Source: Vaswani et al., Attention Is All You Need (2017), section 3, with norms before the branches;
/// `Bitransformer` of Mesh TensorFlow.
template<FloatingElement T, Layout L, class Dims, FloatingElement Activation = T>
struct seq2seq {
  using source = typename Dims::source;
  using target = typename Dims::target;
  using vocab  = typename Dims::vocab;
  using model  = typename Dims::model;
  using heads  = typename Dims::heads;
  using key    = typename Dims::key;
  using hidden = typename Dims::hidden;

  using activation_type = Activation;

private:
  using by_place     = detail::positions_by_place<typename Dims::positions>;
  using feeds        = typename Dims::feed_forward;
  using encoder_type = nn::encoder<T, L, Dims::encoder_layers, source, model, heads, key, hidden, feeds>;
  using decoder_type =
      nn::decoder<T, L, Dims::decoder_layers, target, source, model, heads, key, hidden, model, feeds>;

  using of_encoder = detail::encoder_of<Dims>;
  using of_decoder = detail::decoder_of<Dims>;

  using tokens_type           = embedding<T, L, vocab, model>;
  using source_positions_type = typename by_place::template layer<T, L, source, model>;
  using target_positions_type = typename by_place::template layer<T, L, target, model>;

  static constexpr double width   = math::sqrt(static_cast<double>(model::size));
  static constexpr int last_stage = stage_count<L> - 1;

public:
  tokens_type tokens;
  source_positions_type source_positions;
  target_positions_type target_positions;
  encoder_type encoder;
  decoder_type decoder;
  [[no_unique_address]] detail::twin_if<is_staged<L>, T, L, vocab, model> table_of_last_stage;

  constexpr seq2seq(machine<L>& m, std::uint64_t seed) : seq2seq(m, streams{seed}) {}
  constexpr seq2seq(machine<L>& m, streams seeds)
      : seq2seq(m, detail::depth_of<of_encoder>(), detail::depth_of<of_decoder>(), seeds) {}
  /// Of an encoder and a decoder whose depths the dimensions leave open.
  constexpr seq2seq(machine<L>& m, depth encoder_depth, depth decoder_depth, std::uint64_t seed)
      : seq2seq(m, detail::depth_of<of_encoder>(encoder_depth), detail::depth_of<of_decoder>(decoder_depth),
                streams{seed}) {}

  /// A score for each id at each position of the targets: `vocab` is the last dimension.
  template<class Pairs>
  constexpr auto operator()(Pairs const& pairs, dropout_options drops = {},
                            std::source_location at = std::source_location::current()) const {
    // before the encoder: under a layout with stages the first one has the table
    auto const inputs  = pairs.template inputs<target>(at);
    auto const places  = pairs.template target_places<target>(at);
    auto const x       = embedded(inputs, target_positions, places, drops.part(1), at);
    auto const encoded = encode(pairs, drops, at);
    auto const own     = pairs.target_terms();
    auto const cross   = pairs.cross_terms();
    auto const decoded = decoder(x, detail::value_of(encoded), own, cross, drops.part(1), at);
    return detail::joined<L>(encoded, scores_of(decoded, at), at);
  }

  /// What the decoder attends to, along `source` and `model`.
  template<class Pairs>
  constexpr auto encode(Pairs const& pairs, dropout_options drops = {},
                        std::source_location at = std::source_location::current()) const {
    auto const places = pairs.template source_places<source>(at);
    auto const x      = embedded(pairs.source, source_positions, places, drops.part(0), at);
    auto const terms  = pairs.source_terms();
    return encoder(x, terms, drops.part(0), at);
  }

  /// The sum of the losses of all targets that count: divide it by `count`, that of all micro-batches.
  template<class Pairs>
  constexpr auto loss(Pairs const& pairs, seq2seq_loss_options options = {},
                      std::source_location at = std::source_location::current()) const {
    auto const z      = (*this)(pairs, options.dropout, at);
    auto const scores = detail::value_of(z);
    auto const total  = [&] {
      if constexpr (is_staged<L>) return loss_of(scores, pairs.on_stage(last_stage, at), options.terms, at);
      else return loss_of(scores, pairs, options.terms, at);
    }();
    return detail::with_value(total, z);
  }

  /// How many targets count, as an element of the losses' type.
  template<class Pairs>
  constexpr auto count(Pairs const& pairs, std::source_location at = std::source_location::current()) const {
    auto const counting = pairs.template counts<computed<Activation>>(at);
    return sum(counting);
  }

  /// For each source the most probable next id, one after the other: up to and with `end`, then zeros. Ends
  /// with the last position of `target`, or when all sources have their `end`. Keys and values are kept, so a
  /// step computes one position. No gradient.
  ///
  ///     auto ids = net.greedy(nn::source_rows{source, not_equal(source, 0)}, end);   // [batch, target]
  ///
  /// Each step costs the messages of the model, those of `argmax` over `vocab`, and an all-reduce of whether
  /// all have ended; a dry run prices all steps.
  template<class Sources>
  constexpr auto greedy(Sources const& sources, std::int32_t end,
                        std::source_location at = std::source_location::current()) const {
    return one_after_the_other(
        sources, end, [at](auto const& scores, extent) { return argmax<vocab>(scores, at); }, at);
  }

  /// As `greedy`, but each id is drawn as `choice` says: with a temperature, among the likeliest, or both.
  ///
  ///     auto ids = net.sample(nn::source_rows{source, not_equal(source, 0)}, end,
  ///                           {.temperature = 0.8, .top_k = 40}, {.seed = run});         // [batch, target]
  ///
  /// The ids are the same under every layout, and on every number of processes. Position i draws with the
  /// stream `random.stream` + i. Each step sends what `next_ids<vocab, K>` sends in place of `argmax`; name a
  /// small `K` where `vocab` is split (`net.sample<best>(...)`, with `struct best : dim<64> {}`): it bounds
  /// what is sent, and the largest `top_k`. Errors: those of `next_ids`.
  template<class K = void, class Sources>
  constexpr auto sample(Sources const& sources, std::int32_t end, sampling const& choice,
                        random_key random       = {},
                        std::source_location at = std::source_location::current()) const {
    using candidates = std::conditional_t<std::is_void_v<K>, ranked_ids<vocab>, K>;
    auto const draw  = [&](auto const& scores, extent i) {
      return next_ids<vocab, candidates>(scores, choice, detail::at_position(random, i), at);
    };
    return one_after_the_other(sources, end, draw, at);
  }

  /// The dimension of the one position that a step of decoding computes.
  struct next_position : dim<1> {};

  /// What decoding keeps, before the first step: keys and values of the sources, and room for those of the
  /// targets, which have the dimensions `Beams...` after those of the batch. All targets of a source see the
  /// same keys and values of it.
  template<Dimension... Beams, class Sources>
  constexpr auto start(Sources const& sources,
                       std::source_location at = std::source_location::current()) const {
    auto const encoded = encode(sources, {}, at);
    return decoder.template caches<Beams...>(detail::value_of(encoded), at);
  }

  /// One step of decoding: the scores of the ids at position `i` of the targets, along `vocab`, where
  /// `before` has the ids of the position before it (0 before the first), along `next_position`. `caches` are
  /// those of `start` and of the steps before, `terms` those of the sources. The scores are those of all
  /// positions at once. No gradient is wanted of a step: its caller holds a `no_gradient`.
  template<class Ids, class Caches, class Terms>
  constexpr auto next_scores(Ids const& before, extent i, Caches& caches, Terms const& terms,
                             std::source_location at = std::source_location::current()) const {
    auto const place =
        iota<std::int32_t, L, next_position>(before.machine(), at) + static_cast<std::int32_t>(i);
    auto const x = embedded(before, target_positions, place, {}, at);
    return tokens.logits(decoder.template extend<next_position>(x, caches, i, terms, at), at);
  }

  // What the compiler has refused is accepted, and no error follows.
  template<detail::RejectedSequences Pairs>
  constexpr rejected operator()(Pairs const&, dropout_options = {}, std::source_location = {}) const {
    return {};
  }
  template<detail::RejectedSequences Pairs>
  constexpr rejected encode(Pairs const&, dropout_options = {}, std::source_location = {}) const {
    return {};
  }
  template<detail::RejectedSequences Pairs>
  constexpr rejected loss(Pairs const&, seq2seq_loss_options = {}, std::source_location = {}) const {
    return {};
  }
  template<detail::RejectedSequences Pairs>
  constexpr rejected count(Pairs const&, std::source_location = {}) const {
    return {};
  }
  template<detail::RejectedSequences Sources>
  constexpr rejected greedy(Sources const&, std::int32_t, std::source_location = {}) const {
    return {};
  }
  template<class K = void, detail::RejectedSequences Sources>
  constexpr rejected sample(Sources const&, std::int32_t, sampling const&, random_key = {},
                            std::source_location = {}) const {
    return {};
  }

  constexpr auto parameters() {
    if constexpr (requires { source_positions.table; })
      return meshtf::parameters(named("tokens", tokens.table),
                                named("source_positions", source_positions.table),
                                named("target_positions", target_positions.table), named("encoder", encoder),
                                named("decoder", decoder));
    else
      return meshtf::parameters(named("tokens", tokens.table), named("encoder", encoder),
                                named("decoder", decoder));
  }

private:
  constexpr seq2seq(machine<L>& m, depth encoder_depth, depth decoder_depth, streams seeds)
      : tokens(detail::made_at_stage<tokens_type, L>(m, 0, normal{seeds.next(), 1 / width})),
        source_positions(detail::made_at_stage<source_positions_type, L>(m, 0, normal{seeds.next(), 1})),
        target_positions(detail::made_at_stage<target_positions_type, L>(m, 0, normal{seeds.next(), 1})),
        encoder(m, encoder_depth, {.before = 0, .all = encoder_depth.layers + decoder_depth.layers}, seeds,
                Dims::stddev),
        decoder(m, decoder_depth,
                {.before = encoder_depth.layers, .all = encoder_depth.layers + decoder_depth.layers}, seeds,
                Dims::stddev),
        table_of_last_stage(tokens.table) {
    if constexpr (of_encoder::layers != any_depth && of_decoder::layers != any_depth)
      static_assert(accepted<cut_verdict<L, of_encoder::layers + of_decoder::layers>>,
                    "meshtf: the stages of this layout do not cut the blocks");
  }

  /// Ids that `choose(scores, i)` takes at each position i, until all sources have their end.
  template<class Sources, class Choose>
  constexpr auto one_after_the_other(Sources const& sources, std::int32_t end, Choose const& choose,
                                     std::source_location at) const {
    auto& m = sources.source.machine();
    no_gradient const guard{m};
    auto const encoded = encode(sources, {}, at);
    auto caches      = decoder.caches(detail::value_of(encoded), at);  // not start(): its refusal is shorter
    auto const terms = sources.source_terms();
    return [&]<Dimension... Batch>(shape<Batch...>) {
      using one  = tensor<std::int32_t, L, Batch..., next_position>;
      using mine = tensor<std::int32_t, L, Batch..., target>;
      mine found{m};
      one before{m};
      one ended{m};
      for (extent i = 0; i < m.counted().template of<target>(); ++i) {
        auto const scores    = next_scores(before, i, caches, terms, at);
        auto const best      = choose(scores, i);
        before               = where(ended, std::int32_t{0}, best, at);
        found                = write<target>(std::move(found), before, i, at);
        ended                = logical_or(ended, meshtf::equal(before, end, at), at);
        auto const all_ended = all(ended, at);
        if constexpr (machine<L>::computes)
          if (all_ended.value() != 0) break;
      }
      return found;
    }(without<typename std::remove_cvref_t<decltype(sources.source)>::shape_type, shape<source>>{});
  }

  template<class Decoded>
  constexpr auto scores_of(Decoded const& decoded, std::source_location at) const {
    auto const& x = detail::value_of(decoded);
    if constexpr (is_staged<L>)
      return detail::with_value(tokens_type::scores(x, *table_of_last_stage, at), decoded);
    else return detail::with_value(tokens.logits(x, at), decoded);
  }

  template<class Scores, class Pairs>
  static constexpr auto loss_of(Scores const& scores, Pairs const& pairs, cross_entropy_options const& terms,
                                std::source_location at) {
    auto const losses = softmax_cross_entropy<vocab>(scores, pairs.target, terms, at);
    if constexpr (meshtf::detail::AnyRejected<decltype(losses)>) {
      return rejected{};
    } else {
      auto const counting = pairs.template counts<computed<Activation>>(at);
      return sum(losses * counting);
    }
  }

  template<class Ids, class Positions, class Places>
  constexpr auto embedded(Ids const& ids, Positions const& positions, Places const& places,
                          dropout_options drops, std::source_location at) const {
    auto const found = looked_up(ids, at) * width;
    auto const x     = finish(positions.add(found, places, at));
    return detail::after_dropout(x, drops.part(0).part(0), at);
  }

  template<class Ids>
  constexpr auto looked_up(Ids const& ids, std::source_location at) const {
    if constexpr (std::is_same_v<Activation, T>) return tokens(ids, at);
    else return cast<Activation>(tokens(ids, at), at);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
