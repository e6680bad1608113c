// A stack of blocks of one type, each of which works on what the one before it returns; under a layout with
// stages, each on its own.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/core/error.hpp>
#include <meshtf/nn/depth.hpp>
#include <meshtf/nn/stages.hpp>
#include <meshtf/ops/function/with_gathered_weights.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

namespace detail {

template<class Block, int Layers>
struct blocks_of : std::type_identity<std::array<Block, std::size_t{Layers}>> {};
template<class Block>
struct blocks_of<Block, any_depth> : std::type_identity<std::vector<Block>> {};

template<class L>
void expect_cut(int blocks) {
  if (!cuts<L>(blocks))
    throw software_error("expected " + std::to_string(stage_count<L>) +
                         " stages to cut the blocks of a model, got nn::depth{" + std::to_string(blocks) +
                         "}: each stage has at least one, and the layout's cut ends at their number");
}

/// As many blocks as the depth says, each made of the machine and the same arguments, on the stage that its
/// place among all has; `Layers` is their number, or `any_depth`.
/// Errors: `software_error` if there is not one, or the stages of `L` do not cut all.
template<class Block, int Layers, Layout L, class... A>
constexpr auto made_part(place_among_blocks place, depth d, machine<L>& m, A&... arguments) {
  if (d.layers < 1)
    throw software_error("expected a model of at least one layer, got nn::depth{" + std::to_string(d.layers) +
                         "}");
  if constexpr (is_staged<L>)
    if (!cuts<L>(place.all)) expect_cut<L>(place.all);
  if constexpr (Layers != any_depth) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return typename blocks_of<Block, Layers>::type{made_at_stage<Block, L>(
          m, stage_of<L>(place.before + place.by * int{I}, place.all), arguments...)...};
    }(std::make_index_sequence<std::size_t{Layers}>{});
  } else {
    std::vector<Block> blocks;
    blocks.reserve(static_cast<std::size_t>(d.layers));
    for (int i = 0; i < d.layers; ++i) {
      [[maybe_unused]] at_stage<L> const here{m, stage_of<L>(place.before + place.by * i, place.all)};
      blocks.emplace_back(m, arguments...);
    }
    return blocks;
  }
}

/// The same where they are all blocks of the model.
template<class Block, int Layers, Layout L, class... A>
constexpr auto made_blocks(depth d, machine<L>& m, A&... arguments) {
  if constexpr (Layers != any_depth)
    static_assert(accepted<cut_verdict<L, Layers>>,
                  "meshtf: the stages of this layout do not cut the blocks");
  return made_part<Block, Layers, L>({.before = 0, .all = d.layers}, d, m, arguments...);
}

/// block(x); where its weights are kept in parts, they travel together.
template<class L, class Block, class X>
constexpr auto called(Block const& block, X const& x) {
  if constexpr (meshtf::detail::packs_weights<actual<L>>) return with_gathered_weights(block, x);
  else return block(x);
}

/// x through `blocks`, which may change its type once. The first block works on the stage that has x.
template<class L, class Blocks, class X>
constexpr auto through(Blocks const& blocks, X const& x, std::source_location at) {
  auto r = called_on_stage<L>(x, [&](X const& own) { return called<L>(blocks[0], own); });
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if constexpr (is_staged<L>) {
      int const stage = stage_of<L>(static_cast<int>(i), static_cast<int>(blocks.size()));
      r               = called_on_stage<L>(handed_on(r, stage, at),
                                           [&](auto const& own) { return called<L>(blocks[i], own); });
    } else {
      r = called<L>(blocks[i], r);
    }
  }
  return r;
}

}  // namespace detail

/// `Layers` blocks, or `depth` of them: x goes through all. Under a layout with stages, block i has its
/// parameters on `stage_of(i)` and works there, and what it returns is handed on.
///
///     nn::stack<block<L>, 8> blocks{m, seeds};   // each made as block{m, seeds}
///     auto const y = blocks(x);
///
/// A block takes a tensor, or an aggregate of tensors with a member `values()`, and returns what the next one
/// takes; the first may take another type. Parameters are named by number.
/// Errors: `more_stages_than_blocks`, `stages_do_not_cut`; `software_error` for a `depth` that does not fit.
template<class Block, int Layers = any_depth>
struct stack {
  using layout_type = typename meshtf::detail::first_parameter<Block>::type::layout_type;

  typename detail::blocks_of<Block, Layers>::type blocks;

  template<class... A>
  constexpr explicit stack(machine<layout_type>& m, A&&... arguments)
    requires(Layers != any_depth)
      : blocks(detail::made_blocks<Block, Layers, layout_type>(depth{Layers}, m, arguments...)) {}
  template<class... A>
  constexpr stack(machine<layout_type>& m, depth d, A&&... arguments)
    requires(Layers == any_depth)
      : blocks(detail::made_blocks<Block, Layers, layout_type>(d, m, arguments...)) {}

  template<class X>
  constexpr auto operator()(X const& x, std::source_location at = std::source_location::current()) const {
    return detail::through<layout_type>(blocks, x, at);
  }
  constexpr auto parameters() { return meshtf::parameters(blocks); }
};

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
