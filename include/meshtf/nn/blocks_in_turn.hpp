// Blocks of two types in turn, of which every second one has a layer of experts.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <utility>

#include <meshtf/nn/routed.hpp>
#include <meshtf/nn/stack.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// Every second block has a layer of experts, and the model has only `Layers`.
template<int Layers>
struct no_block_has_experts {};

namespace detail {

/// In the place of a block's type: block 0 is `Dense`, block 1 `WithExperts`, and so on in turn.
template<class Dense, class WithExperts>
struct in_turn {
  using dense        = Dense;
  using with_experts = WithExperts;

  static constexpr int branch_count = Dense::branch_count;
};

template<class Block>
inline constexpr bool is_in_turn = false;
template<class Dense, class WithExperts>
inline constexpr bool is_in_turn<in_turn<Dense, WithExperts>> = true;

/// Parameters are named by kind and number: `blocks.dense.0`, `blocks.experts.0`.
template<class Dense, class WithExperts, int Layers>
struct blocks_in_turn {
  using verdict = std::conditional_t<Layers == 1, no_block_has_experts<Layers>, legal>;
  static_assert(accepted<verdict>, "meshtf: experts in every second block need two blocks or more");

  // of any depth, so are both
  typename blocks_of<Dense, (Layers + 1) / 2>::type dense;
  typename blocks_of<WithExperts, Layers / 2>::type experts;

  constexpr std::size_t size() const { return dense.size() + experts.size(); }
  constexpr auto parameters() { return meshtf::parameters(named("dense", dense), named("experts", experts)); }
};
template<class Dense, class WithExperts, int Layers>
struct blocks_of<in_turn<Dense, WithExperts>, Layers>
    : std::type_identity<blocks_in_turn<Dense, WithExperts, Layers>> {};

[[noreturn]] inline void throw_no_block_has_experts(int layers) {
  throw software_error("expected two blocks or more, of which every second one has experts, got nn::depth{" +
                       std::to_string(layers) + "}");
}

/// `made_part`, also of blocks in turn.
template<class Block, int Layers, Layout L, class... A>
constexpr auto made_part_of(place_among_blocks place, depth d, machine<L>& m, A&... arguments) {
  if constexpr (!is_in_turn<Block>) {
    return made_part<Block, Layers, L>(place, d, m, arguments...);
  } else {
    if (d.layers < 2) throw_no_block_has_experts(d.layers);
    using dense        = typename Block::dense;
    using with_experts = typename Block::with_experts;
    place_among_blocks const of_dense{.before = place.before, .all = place.all, .by = 2};
    place_among_blocks const of_experts{.before = place.before + 1, .all = place.all, .by = 2};
    return blocks_in_turn<dense, with_experts, Layers>{
        made_part<dense, (Layers + 1) / 2, L>(of_dense, {(d.layers + 1) / 2}, m, arguments...),
        made_part<with_experts, Layers / 2, L>(of_experts, {d.layers / 2}, m, arguments...)};
  }
}

/// f(block, number) of each block in order.
template<class Blocks, class F>
constexpr void for_each_block(Blocks const& blocks, F const& f) {
  if constexpr (requires { blocks.experts; }) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i % 2 == 0) f(blocks.dense[i / 2], i);
      else f(blocks.experts[i / 2], i);
  } else {
    for (std::size_t i = 0; i < blocks.size(); ++i) f(blocks[i], i);
  }
}
template<class Blocks>
constexpr auto const& first_block(Blocks const& blocks) {
  if constexpr (requires { blocks.experts; }) return blocks.dense[0];
  else return blocks[0];
}

/// x through all blocks: step(block, number, x) is what a block makes of x. With experts the result is
/// `routed`, and has what all layers of experts said.
template<Layout L, class Blocks, class X, class Step>
constexpr auto through_blocks(Blocks const& blocks, X const& x, Step const& step, std::source_location at) {
  if constexpr (requires { blocks.experts; }) {
    auto r = step(blocks.experts[0], 1, step(blocks.dense[0], 0, x));
    for (std::size_t i = 2; i < blocks.size(); ++i) {
      if (i % 2 == 0) {
        auto next = detail::with_value(step(blocks.dense[i / 2], i, detail::value_of(r)), r);
        r         = std::move(next);
      } else {
        auto next = detail::joined<L>(r, step(blocks.experts[i / 2], i, detail::value_of(r)), at);
        r         = std::move(next);
      }
    }
    return detail::said_here<L>(r, at);
  } else {
    auto r = step(blocks[0], 0, x);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      auto next = step(blocks[i], i, r);
      r         = std::move(next);
    }
    return r;
  }
}

/// A block with what its layer of experts is told: a model of the stream alone.
template<class Block>
struct block_of_pass {
  Block const* block;
  expert_pass pass;
  std::source_location at;

  template<class X>
  constexpr auto operator()(X const& x) const {
    return (*block)(x, pass, at);
  }
  // a list of parameters is one of parameters that may change
  constexpr auto parameters() const { return const_cast<Block*>(block)->parameters(); }
};

/// x through blocks in turn that are called as block(x, pass, at), each on its stage.
template<Layout L, class Blocks, class X>
constexpr auto through_in_turn(Blocks const& blocks, X const& x, expert_pass pass, std::source_location at) {
  auto const step = [&]<class B>(B const& b, std::size_t i, auto const& before) {
    expert_pass own   = pass;
    own.random.stream = own.random.stream * 4096 + i;
    block_of_pass<B> const bound{&b, own, at};
    if constexpr (is_staged<L>) {
      int const k = stage_of<L>(static_cast<int>(i), static_cast<int>(blocks.size()));
      return called<L>(bound, handed_on(before, k, at));
    } else {
      return called<L>(bound, before);
    }
  };
  return detail::through_blocks<L>(blocks, x, step, at);
}

}  // namespace detail
}  // namespace nn
}  // namespace v0
}  // namespace meshtf
