// The decoder of a Transformer: causal self-attention, attention to an encoder's result, feed-forward, with
// each norm before its branch.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <meshtf/nn/encoder.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Causal self-attention, attention to a memory and feed-forward: each works on the norm of the stream, and
/// is added to the stream after dropout. `Feed` is as in `encoder_block`.
/// Errors: `gating_sees_later_tokens`. Source: as of `encoder_block`.
template<FloatingElement T, Layout L, Dimension Length, Dimension Memory, Dimension Model, Dimension Heads,
         Dimension Key, Dimension Hidden, Dimension MemoryModel = Model,
         class Feed = feed_forward<T, L, Model, Hidden>>
struct decoder_block {
  using feed_verdict = typename detail::causal_feed<Feed>::type;
  static_assert(accepted<feed_verdict>, "meshtf: a block with causal attention can't have this gating");

  static constexpr int branch_count = 3;

  layer_norm<T, L, Model> norm1;
  nn::attention<T, L, Model, Heads, Key, Length> attention;
  layer_norm<T, L, Model> norm2;
  nn::attention<T, L, Model, Heads, Key, Length, Memory, MemoryModel> cross;
  layer_norm<T, L, Model> norm3;
  Feed feed;

  constexpr decoder_block(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : norm1{m},
        attention{m, seeds, stddev, output_stddev},
        norm2{m},
        cross{m, seeds, stddev, output_stddev},
        norm3{m},
        feed{m, seeds, stddev, output_stddev} {}

  template<class X, class Y, class Own, class Cross>
  constexpr auto operator()(X const& before, Y const& memory, Own const& own_terms, Cross const& cross_terms,
                            dropout_options drops,
                            std::source_location at = std::source_location::current()) const {
    auto const to_itself = [&](auto const& x) {
      return detail::after_dropout(attention(x, own_terms, drops.part(3).of_attention(true), at),
                                   drops.part(0), at);
    };
    auto const to_memory = [&](auto const& x) {
      return detail::after_dropout(cross(x, memory, cross_terms, drops.part(4).of_attention(), at),
                                   drops.part(1), at);
    };
    auto const by_feed = [&](auto const& x) {
      return detail::fed_after(own_terms, feed, x, drops.part(5).of_experts(), at);
    };
    return through(before, to_itself, to_memory, by_feed, drops.part(2), at);
  }

  /// The positions `first` and following, which have the dimension `Step` in place of `Length`; `own` gets
  /// their keys and values, `memory` holds those of the memory.
  template<Dimension Step, class X, class OwnCache, class MemoryCache, class Cross>
  constexpr auto extend(X const& before, OwnCache& own, MemoryCache const& memory, extent first,
                        Cross const& cross_terms,
                        std::source_location at = std::source_location::current()) const {
    auto const to_itself = [&](auto const& x) {
      return attention.template extend<Step>(x, own, first, attention_options{}, at);
    };
    auto const to_memory = [&](auto const& x) {
      return cross.template attend<Step>(x, memory, cross_terms, attention_options{}, at);
    };
    auto const by_feed = [&](auto const& x) { return detail::fed_without_drops(feed, x, at); };
    return through(before, to_itself, to_memory, by_feed, {}, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attention", attention), named("norm2", norm2),
                              named("cross", cross), named("norm3", norm3), named("feed_forward", feed));
  }

private:
  template<class X, class Own, class Cross, class ByFeed>
  constexpr auto through(X const& x, Own const& to_itself, Cross const& to_memory, ByFeed const& by_feed,
                         dropout_options drops, std::source_location at) const {
    auto const normed = norm1(x);
    return branches(x, normed, to_itself, to_memory, by_feed, drops, at);
  }
  template<class X, class Own, class Cross, class ByFeed>
  constexpr auto through(residual<X> const& before, Own const& to_itself, Cross const& to_memory,
                         ByFeed const& by_feed, dropout_options drops, std::source_location at) const {
    auto const r = norm1(before.stream, before.branch);
    return branches(r.sum, r.norm, to_itself, to_memory, by_feed, drops, at);
  }
  template<class X, class Normed, class Own, class Cross, class ByFeed>
  constexpr auto branches(X const& x, Normed const& normed, Own const& to_itself, Cross const& to_memory,
                          ByFeed const& by_feed, dropout_options const& drops,
                          std::source_location at) const {
    auto const s = norm2(x, to_itself(normed));
    auto r       = norm3(s.sum, to_memory(s.norm));
    auto const z = by_feed(r.norm);
    auto f       = detail::after_dropout(detail::value_of(z), drops, at);
    return detail::block_result(std::move(r.sum), std::move(f), z);
  }
};

namespace detail {

/// The blocks of a decoder, with the feed-forward layers that `Feeds` names.
template<class Feeds, class T, class L, class Length, class Memory, class Model, class Heads, class Key,
         class Hidden, class MemoryModel>
using decoder_blocks = typename Feeds::template blocks<
    decoder_block<T, L, Length, Memory, Model, Heads, Key, Hidden, MemoryModel>,
    decoder_block<T, L, Length, Memory, Model, Heads, Key, Hidden, MemoryModel,
                  typename Feeds::template layer<T, L, Model>>>;

}  // namespace detail

/// What decoding step by step keeps of each block: keys and values of the positions so far, and of the
/// memory.
template<class Own, class Memory>
struct decoder_caches {
  std::vector<Own> own;
  std::vector<Memory> memory;
};

/// `Layers` such blocks, or `depth` of them, and a last norm. x and the result have `Length` and `Model`; the
/// memory, for instance an encoder's result, has `Memory` and `MemoryModel`, the width of its own.
///
///     nn::decoder<float, L, 6, target, source, model, heads, key, hidden> decodes{m, seeds, 0.03};
///     auto y = decodes(x, encoded, with_segments(of_target), with_segments(of_target, of_source));
///
/// Layouts, dropout, recomputation and initial values are those of `encoder`; three branches join the stream
/// in each block, so their stddev is divided by sqrt(3 layers). `Feeds` is as in `encoder`.
template<FloatingElement T, Layout L, int Layers, Dimension Length, Dimension Memory, Dimension Model,
         Dimension Heads, Dimension Key, Dimension Hidden, Dimension MemoryModel = Model,
         class Feeds = feed_forward_in_every_block>
struct decoder
    : detail::blocks_with_norm<
          detail::decoder_blocks<Feeds, T, L, Length, Memory, Model, Heads, Key, Hidden, MemoryModel>, Layers,
          T, L, Model> {
  using base = detail::blocks_with_norm<
      detail::decoder_blocks<Feeds, T, L, Length, Memory, Model, Heads, Key, Hidden, MemoryModel>, Layers, T,
      L, Model>;
  using base::base;
  using base::blocks;
  using base::norm;

  template<class X, class Y>
  constexpr auto operator()(X const& x, Y const& memory, dropout_options drops = {},
                            std::source_location at = std::source_location::current()) const {
    return (*this)(x, memory, detail::all_visible, detail::all_visible, drops, at);
  }
  /// With terms of the self-attention, which is causal too, and of the attention to the memory.
  template<class X, class Y, class... Own, class... Cross>
  constexpr auto operator()(X const& x, Y const& memory,
                            meshtf::detail::attention_terms<Own...> const& own_terms,
                            meshtf::detail::attention_terms<Cross...> const& cross_terms,
                            dropout_options drops   = {},
                            std::source_location at = std::source_location::current()) const {
    return this->through(x, drops, at, memory, own_terms, cross_terms);
  }
  template<class X, class Y, class Own, class Cross>
    requires meshtf::detail::AnyRejected<X, Y, Own, Cross>
  constexpr rejected operator()(X const&, Y const&, Own const&, Cross const&, dropout_options = {},
                                std::source_location = {}) const {
    return {};
  }

  /// The caches of a memory, for `extend`: nothing of `Length` is in them yet. Sequences may have dimensions
  /// `Shared...` after those of the memory's batch, as beams have: these share its keys and values.
  template<Dimension... Shared, Tensor Y>
  constexpr auto caches(Y const& memory, std::source_location at = std::source_location::current()) const {
    using batches = without<typename Y::shape_type, shape<Memory, MemoryModel>>;
    static_assert(accepted<typename detail::decoding_objection<L>::type>,
                  "meshtf: a decoder decodes step by step under layouts without stages");
    auto& m = memory.machine();
    return [&]<Dimension... Batch>(shape<Batch...>) {
      auto const none_of = [&m](auto const& b) {
        return b.attention.template empty_cache<typename Y::element_type, Batch..., Shared...>(m);
      };
      auto const& first = detail::first_block(blocks);
      decoder_caches<decltype(none_of(first)), decltype(first.cross.cache(memory, at))> made;
      detail::for_each_block(blocks, [&](auto const& b, std::size_t) {
        made.own.push_back(none_of(b));
        made.memory.push_back(b.cross.cache(memory, at));
      });
      return made;
    }(batches{});
  }

  /// What the decoder gives of the positions `first` and following, which have the dimension `Step` of x in
  /// place of `Length`; those before them are in the caches, which get these. The results are those of all
  /// positions at once.
  template<Dimension Step, class X, class Own, class Seen, class... Cross>
  constexpr auto extend(X const& x, decoder_caches<Own, Seen>& seen, extent first,
                        meshtf::detail::attention_terms<Cross...> const& cross_terms,
                        std::source_location at = std::source_location::current()) const {
    auto const step = [&](auto const& b, std::size_t i, auto const& before) {
      return b.template extend<Step>(before, seen.own[i], seen.memory[i], first, cross_terms, at);
    };
    auto const r = detail::through_blocks<L>(blocks, x, step, at);
    return norm(r.stream, r.branch).norm;
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
