// The decoder of a Transformer: causal self-attention, attention to an encoder's result, feed-forward, with
// each norm before its branch.
#pragma once

#include <utility>

#include <meshtf/nn/encoder.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Causal self-attention, attention to a memory and feed-forward: each works on the norm of the stream, and
/// is added to the stream after dropout.
/// Source: as of `encoder_block`.
template<FloatingElement T, Layout L, Dimension Length, Dimension Memory, Dimension Model, Dimension Heads,
         Dimension Key, Dimension Hidden, Dimension MemoryModel = Model>
struct decoder_block {
  layer_norm<T, L, Model> norm1;
  nn::attention<T, L, Model, Heads, Key, Length> attention;
  layer_norm<T, L, Model> norm2;
  nn::attention<T, L, Model, Heads, Key, Length, Memory, MemoryModel> cross;
  layer_norm<T, L, Model> norm3;
  feed_forward<T, L, Model, Hidden> feed;

  constexpr decoder_block(machine<L>& m, streams& seeds, double stddev, double output_stddev)
      : norm1{m},
        attention{m, seeds, stddev, output_stddev},
        norm2{m},
        cross{m, seeds, stddev, output_stddev},
        norm3{m},
        feed{m, seeds, stddev, output_stddev} {}

  template<class X, class Y, class Own, class Cross>
  constexpr auto operator()(X const& x, Y const& memory, Own const& own_terms, Cross const& cross_terms,
                            dropout_options drops,
                            std::source_location at = std::source_location::current()) const {
    auto const normed = norm1(x);
    return branches(x, normed, memory, own_terms, cross_terms, drops, at);
  }
  template<class X, class Y, class Own, class Cross>
  constexpr auto operator()(residual<X> const& before, Y const& memory, Own const& own_terms,
                            Cross const& cross_terms, dropout_options drops,
                            std::source_location at = std::source_location::current()) const {
    auto const r = norm1(before.stream, before.branch);
    return branches(r.sum, r.norm, memory, own_terms, cross_terms, drops, at);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("norm1", norm1), named("attention", attention), named("norm2", norm2),
                              named("cross", cross), named("norm3", norm3), named("feed_forward", feed));
  }

private:
  template<class X, class Normed, class Y, class Own, class Cross>
  constexpr auto branches(X const& x, Normed const& normed, Y const& memory, Own const& own_terms,
                          Cross const& cross_terms, dropout_options const& drops,
                          std::source_location at) const {
    auto const a = detail::after_dropout(attention(normed, own_terms, attention_options{.causal = true}, at),
                                         drops.part(0), at);
    auto const s = norm2(x, a);
    auto const c =
        detail::after_dropout(cross(s.norm, memory, cross_terms, attention_options{}, at), drops.part(1), at);
    auto r = norm3(s.sum, c);
    auto f = detail::after_dropout(feed(r.norm), drops.part(2), at);
    return detail::residual_of(std::move(r.sum), std::move(f));
  }
};

/// `Layers` such blocks, or `depth` of them, and a last norm. x and the result have `Length` and `Model`; the
/// memory, for instance an encoder's result, has `Memory` and `MemoryModel`, the width of its own.
///
///     nn::decoder<float, L, 6, target, source, model, heads, key, hidden> decodes{m, seeds, 0.03};
///     auto y = decodes(x, encoded, with_segments(of_target), with_segments(of_target, of_source));
///
/// Layouts and initial values are those of `encoder`; three branches join the stream in each block, so their
/// stddev is divided by sqrt(3 layers).
template<FloatingElement T, Layout L, int Layers, Dimension Length, Dimension Memory, Dimension Model,
         Dimension Heads, Dimension Key, Dimension Hidden, Dimension MemoryModel = Model>
struct decoder {
  using block = decoder_block<T, L, Length, Memory, Model, Heads, Key, Hidden, MemoryModel>;

  typename detail::blocks_of<block, Layers>::type blocks;
  layer_norm<T, L, Model> norm;

  constexpr decoder(machine<L>& m, streams& seeds, double stddev)
    requires(Layers != any_depth)
      : decoder(m, depth{Layers}, seeds, stddev) {}
  /// Errors: `software_error` for a depth below 1. Where `Layers` is a number, `d` is the same.
  constexpr decoder(machine<L>& m, depth d, streams& seeds, double stddev)
      : blocks(blocks_for(d, m, seeds, stddev)), norm{m} {}

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
    auto r = blocks[0](x, memory, own_terms, cross_terms, drops.part(1), at);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      auto next = blocks[i](r, memory, own_terms, cross_terms, drops.part(i + 1), at);
      r         = std::move(next);
    }
    return norm(r.stream, r.branch).norm;
  }
  constexpr auto parameters() { return meshtf::parameters(named("blocks", blocks), named("norm", norm)); }

private:
  static_assert(!is_staged<L>, "meshtf: a decoder works under layouts without stages");

  static constexpr auto blocks_for(depth d, machine<L>& m, streams& seeds, double stddev) {
    double const output_stddev = stddev / math::sqrt(3.0 * d.layers);
    return detail::made_blocks<block, Layers, L>(d, m, seeds, stddev, output_stddev);
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
