// What an encoder and a decoder have in common: blocks that a residual stream goes through, dropout in them,
// and a last norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <utility>

#include <meshtf/nn/depth.hpp>
#include <meshtf/nn/norm.hpp>
#include <meshtf/nn/residual.hpp>
#include <meshtf/nn/stack.hpp>
#include <meshtf/nn/streams.hpp>
#include <meshtf/ops/product/attention_terms.hpp>
#include <meshtf/ops/random/dropout.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Dropout in one pass through a model: with which probability an element becomes 0, and the random numbers.
/// Each pass in training, of a micro-batch too, wants a key of its own: `{.seed = run, .stream = pass}`.
struct dropout_options {
  double rate = 0;
  random_key random{};

  /// Those of part `n` of the model, or of part `n` of a part: other random numbers. n is less than 4096, and
  /// a model's uses are all at one depth.
  constexpr dropout_options part(std::uint64_t n) const {
    return {rate, {random.seed, random.stream * 4096 + n}};
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

/// Blocks of one type and a last norm. A block is called as block(x, beside..., drops, at), where `beside` is
/// what all blocks get: terms of attention, a memory.
template<class Block, int Layers, FloatingElement T, Layout L, Dimension Model>
struct blocks_with_norm {
  using block = Block;

  typename blocks_of<block, Layers>::type blocks;
  layer_norm<T, L, Model> norm;

  constexpr blocks_with_norm(machine<L>& m, streams& seeds, double stddev)
    requires(Layers != any_depth)
      : blocks(blocks_for(depth{Layers}, m, seeds, stddev)), norm{m} {}
  /// Errors: `software_error` for a depth below 1.
  constexpr blocks_with_norm(machine<L>& m, depth d, streams& seeds, double stddev)
    requires(Layers == any_depth)
      : blocks(blocks_for(d, m, seeds, stddev)), norm{m} {}

  constexpr auto parameters() { return meshtf::parameters(named("blocks", blocks), named("norm", norm)); }

protected:
  static_assert(!is_staged<L>, "meshtf: an encoder or decoder works under layouts without stages");

  /// x through all blocks and the norm.
  template<class X, class... Beside>
  constexpr auto through(X const& x, dropout_options const& drops, std::source_location at,
                         Beside const&... beside) const {
    auto r = blocks[0](x, beside..., drops.part(1), at);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      auto next = blocks[i](r, beside..., drops.part(i + 1), at);
      r         = std::move(next);
    }
    return norm(r.stream, r.branch).norm;
  }

private:
  static constexpr auto blocks_for(depth d, machine<L>& m, streams& seeds, double stddev) {
    double const output_stddev = stddev_of_branches(stddev, d.layers, block::branch_count);
    return made_blocks<block, Layers, L>(d, m, seeds, stddev, output_stddev);
  }
};

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
