// What an encoder and a decoder have in common: blocks that a residual stream goes through, dropout in them,
// and a last norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/nn/blocks_in_turn.hpp>
#include <meshtf/nn/depth.hpp>
#include <meshtf/nn/norm.hpp>
#include <meshtf/nn/residual.hpp>
#include <meshtf/nn/stack.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/function/recompute.hpp>
#include <meshtf/ops/product/attention.hpp>
#include <meshtf/ops/random/dropout.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Dropout in one pass through a model: with which probability an element becomes 0, and the random numbers.
/// Each pass in training, of a micro-batch too, wants a key of its own: `{.seed = run, .stream = pass}`.
/// `attention` is the probability for a weight of attention. Layers of experts, which draw second experts by
/// chance and have another capacity in training, take the same random numbers, and are told here that the
/// pass trains; without them `trains` means nothing.
struct dropout_options {
  double rate = 0;
  random_key random{};
  double attention = 0;
  bool trains      = false;

  /// Those of part `n` of the model, or of part `n` of a part: other random numbers. n is less than 4096, and
  /// a model's uses are all at one depth.
  constexpr dropout_options part(std::uint64_t n) const {
    return {rate, {random.seed, random.stream * 4096 + n}, attention, trains};
  }
  /// Layers of experts with these random numbers.
  constexpr expert_pass of_experts() const { return {trains, random}; }
  /// Attention with these weights dropped.
  constexpr attention_options of_attention(bool causal = false) const {
    return {.causal = causal, .dropout = attention, .random = random};
  }
};

namespace detail {

/// x after dropout.
template<class X>
constexpr X after_dropout(X const& x, dropout_options const& drops, std::source_location at) {
  if (drops.rate == 0) return x;
  return dropout(x, drops.rate, drops.random, at);
}

/// Attention to all positions.
inline constexpr auto all_visible =
    meshtf::detail::terms_of(meshtf::detail::without_term, meshtf::detail::without_term,
                             meshtf::detail::without_term, meshtf::detail::without_term);

/// What all blocks get next to their stream, for stage `k`.
constexpr meshtf::detail::no_term handed_on(meshtf::detail::no_term, int, std::source_location) { return {}; }
template<class B, class QS, class MS, class M>
constexpr auto handed_on(meshtf::detail::attention_terms<B, QS, MS, M> const& terms, int k,
                         std::source_location at) {
  auto const bias       = handed_on(terms.bias, k, at);
  auto const mask       = handed_on(terms.mask, k, at);
  auto const of_queries = handed_on(terms.query_segments, k, at);
  if constexpr (std::is_same_v<QS, MS> && Tensor<QS>)  // the same ids need no second message
    if (terms.query_segments.handle().is(terms.memory_segments.handle()))
      return meshtf::detail::attention_terms<B, QS, MS, M>{bias, of_queries, of_queries, mask};
  auto const of_memory = handed_on(terms.memory_segments, k, at);
  return meshtf::detail::attention_terms<B, QS, MS, M>{bias, of_queries, of_memory, mask};
}

template<class... X>
constexpr std::tuple<X...> handed_on(std::tuple<X...> const& all, int k, std::source_location at) {
  // in braces, so the messages go in this order
  return std::apply([&](X const&... each) { return std::tuple<X...>{handed_on(each, k, at)...}; }, all);
}

/// A block with all that it gets next to its stream: a model of the stream alone.
template<class Block, class... Given>
struct bound_block {
  Block const* block;
  std::tuple<Given...> given;
  dropout_options drops;
  std::source_location at;

  template<class X>
  constexpr auto operator()(X const& x) const {
    return std::apply([&](Given const&... each) { return (*block)(x, each..., drops, at); }, given);
  }
  // a list of parameters is one of parameters that may change
  constexpr auto parameters() const { return const_cast<Block*>(block)->parameters(); }
};

/// Blocks of one type, or of two in turn, and a last norm. A block is called as block(x, given..., drops,
/// at), where `given` is what all blocks get: terms of attention, a memory.
template<class Block, int Layers, FloatingElement T, Layout L, Dimension Model>
struct blocks_with_norm {
  using block     = Block;
  using norm_type = layer_norm<T, L, Model>;

  typename blocks_of<block, Layers>::type blocks;
  norm_type norm;

  /// Whether blocks are computed again in the backward pass (`recompute`): what stays between them is the
  /// stream alone.
  bool recompute_blocks = false;

  constexpr blocks_with_norm(machine<L>& m, streams& seeds, double stddev)
    requires(Layers != any_depth)
      : blocks_with_norm(m, depth{Layers}, alone(depth{Layers}), seeds, stddev) {
    static_assert(accepted<cut_verdict<L, Layers>>,
                  "meshtf: the stages of this layout do not cut the blocks");
  }
  /// Errors: `software_error` for a depth below 1.
  constexpr blocks_with_norm(machine<L>& m, depth d, streams& seeds, double stddev)
    requires(Layers == any_depth)
      : blocks_with_norm(m, d, alone(d), seeds, stddev) {}
  /// A part of a model with other blocks, from all of which stages are cut.
  /// Errors: `software_error` if the stages of `L` do not cut all.
  constexpr blocks_with_norm(machine<L>& m, depth d, place_among_blocks place, streams& seeds, double stddev)
      : blocks(blocks_for(d, place, m, seeds, stddev)),
        norm(made_at_stage<norm_type, L>(m, stage_of<L>(place.before + d.layers - 1, place.all))),
        place_{place} {}

  constexpr auto parameters() { return meshtf::parameters(named("blocks", blocks), named("norm", norm)); }

protected:
  /// x through all blocks and the norm. Under a layout with stages, all that a block gets is handed on to the
  /// stage that has it. Weights of a block that are kept in parts travel together.
  template<class X, class... Given>
  constexpr auto through(X const& x, dropout_options const& drops, std::source_location at,
                         Given const&... given) const {
    std::tuple<Given...> there{given...};
    auto const step = [&](auto const& b, std::size_t i, auto const& before) {
      return after_block(b, i, before, there, drops, at);
    };
    auto const r = detail::through_blocks<L>(blocks, x, step, at);
    return normed(r);
  }
  /// The last norm, of what the last block returned.
  template<class R>
  constexpr auto normed(R const& r) const {
    auto const& last = detail::value_of(r);
    return detail::with_value(norm(last.stream, last.branch).norm, r);
  }

private:
  place_among_blocks place_;

  static constexpr place_among_blocks alone(depth d) { return {.before = 0, .all = d.layers}; }
  static constexpr auto blocks_for(depth d, place_among_blocks place, machine<L>& m, streams& seeds,
                                   double stddev) {
    double const output_stddev = stddev_of_branches(stddev, d.layers, block::branch_count);
    return made_part_of<block, Layers, L>(place, d, m, seeds, stddev, output_stddev);
  }

  /// What block `i`, which is `b`, makes of x. `given` is on its stage afterwards.
  template<class B, class X, class... Given>
  constexpr auto after_block(B const& b, std::size_t i, X const& x, std::tuple<Given...>& given,
                             dropout_options const& drops, std::source_location at) const {
    if constexpr (is_staged<L>) {
      int const k       = stage_of<L>(place_.before + static_cast<int>(i), place_.all);
      auto const stream = handed_on(x, k, at);
      given             = handed_on(given, k, at);
      return called_on_stage<L>(stream, [&](X const& own) {
        return result_of(bound_block<B, Given...>{&b, given, drops.part(i + 1), at}, own);
      });
    } else {
      return result_of(bound_block<B, Given...>{&b, given, drops.part(i + 1), at}, x);
    }
  }
  template<class Bound, class X>
  constexpr auto result_of(Bound const& bound, X const& x) const {
    using result = decltype(called<L>(bound, x));
    if constexpr (std::is_same_v<
                      std::remove_cvref_t<decltype(detail::value_of(std::declval<result const&>()))>,
                      residual<rejected>>) {
      return result{};
    } else {
      if (recompute_blocks) return recompute([bound](X const& again) { return called<L>(bound, again); }, x);
      return called<L>(bound, x);
    }
  }
};

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
