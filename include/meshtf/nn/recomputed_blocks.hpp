// Blocks of a model, the first of which are computed again in the backward pass, and the next of which leave
// memory until then.
#pragma once

#include <cstddef>
#include <source_location>

#include <meshtf/nn/stack.hpp>
#include <meshtf/ops/function/recompute.hpp>
#include <meshtf/ops/function/spill.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn::detail {

/// The number of the first blocks that are computed again, where the model's dimensions ask for it.
template<bool There>
struct recomputed_if {};
template<>
struct recomputed_if<true> {
  int recomputed = 0;
};

/// The number of the blocks after these whose intermediate values leave memory.
template<bool There>
struct spilled_if {};
template<>
struct spilled_if<true> {
  int spilled = 0;
};

/// block(x), whose intermediate values are kept, or if `again`, computed once more in the backward pass.
template<class L, class Block, class X>
constexpr auto called_or_recomputed(bool again, Block const& block, X const& x) {
  auto const call = [&block](auto const& own) { return called<L>(block, own); };
  if (again) return recompute(call, x);
  return call(x);
}

/// one(i, x) in place of each block of `through`.
template<class L, class X, class One>
constexpr auto through_each(std::size_t blocks, X const& x, One const& one, std::source_location at) {
  auto r = called_on_stage<L>(x, [&](X const& own) { return one(0, own); });
  for (std::size_t i = 1; i < blocks; ++i) {
    auto const next = [&](auto const& own) { return one(i, own); };
    if constexpr (is_staged<L>) {
      int const stage = stage_of<L>(static_cast<int>(i), static_cast<int>(blocks));
      r               = called_on_stage<L>(handed_on(r, stage, at), next);
    } else {
      r = next(r);
    }
  }
  return r;
}

/// `through`, where the first `recomputed` blocks are computed again.
template<class L, class Blocks, class X>
constexpr auto through_recomputed(Blocks const& blocks, X const& x, int recomputed, std::source_location at) {
  auto const one = [&](std::size_t i, auto const& own) {
    return called_or_recomputed<L>(static_cast<int>(i) < recomputed, blocks[i], own);
  };
  return through_each<L>(blocks.size(), x, one, at);
}

/// The same, where the intermediate values of the next `spilled` blocks leave memory.
template<class L, class Blocks, class X>
constexpr auto through_recomputed(Blocks const& blocks, X const& x, int recomputed, int spilled,
                                  std::source_location at) {
  auto const one = [&](std::size_t i, auto const& own) {
    int const number = static_cast<int>(i) - recomputed;
    if (number < 0 || number >= spilled) return called_or_recomputed<L>(number < 0, blocks[i], own);
    return spill([&](auto const& spilled_from) { return called<L>(blocks[i], spilled_from); }, own);
  };
  return through_each<L>(blocks.size(), x, one, at);
}

}  // namespace nn::detail
}  // namespace v0
}  // namespace meshtf
