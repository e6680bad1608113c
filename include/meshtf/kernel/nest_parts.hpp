// The parts of a nest: which of its loops threads divide, and the nest that each part is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Results of all parts of a nest, if each has its own.
inline constexpr extent partial_results = 4096;

/// How a nest is divided. It follows from the nest alone.
struct nest_division {
  std::size_t loop = 0;
  extent parts     = 1;
  extent grain     = 1;
  bool joins       = false;  // the parts have the same results, which must be joined
};

/// The loop along which the result moves that makes the most parts, outer loops first. If that is not enough,
/// and the results are few, a loop along which it stands still: each part then reduces to results of its own.
/// A loop that is contiguous in some array is divided between cache lines; where rows are added up, into
/// pieces of rows that are as long as a page, since each part walks through all rows.
[[gnu::noinline]] inline nest_division division_of(nest_steps const& nest) {
  constexpr extent enough = 4;
  constexpr extent line   = 64;
  constexpr extent page   = 1024;
  if (nest.iterations < worth_dividing) return {};
  auto const result    = static_cast<std::size_t>(nest.operands - 1);
  auto const best_loop = [&](bool still) {
    nest_division best;
    for (std::size_t i = 0; i < static_cast<std::size_t>(nest.rank); ++i) {
      if ((nest.stride[result][i] == 0) != still) continue;
      extent grain = nest.stride[result][i] == 1 ? line : 1;
      for (std::size_t k = 0; k < result; ++k)
        if (nest.stride[k][i] == 1) grain = nest.reduces ? page : line;
      extent const parts = parts_of(nest.size[i], grain, nest.iterations);
      if (parts > best.parts) best = {i, parts, grain, still};
    }
    return best;
  };
  auto const moving = best_loop(false);
  extent const span = meshtf::detail::span_of(nest, result);
  if (moving.parts >= enough || !nest.reduces || enough * span > partial_results) return moving;
  auto joined  = best_loop(true);
  joined.parts = std::min(joined.parts, partial_results / span);
  return joined.parts > moving.parts ? joined : moving;
}

/// One part: a nest of its own, and where it begins in each operand.
struct nest_part {
  nest_steps steps;
  small_array<extent, max_operands> offset{};
};
[[gnu::noinline]] inline nest_part part_of(nest_steps const& nest, nest_division const& division,
                                           extent part) {
  auto const [begin, end] = range_of_part(nest.size[division.loop], division.grain, division.parts, part);
  nest_part one{nest};
  one.steps.size[division.loop] = end - begin;
  one.steps                     = collapsed(one.steps);
  for (std::size_t k = 0; k < static_cast<std::size_t>(nest.operands); ++k)
    one.offset[k] = begin * nest.stride[k][division.loop];
  return one;
}

/// The operands of a part, from those of the whole.
inline std::array<operand, max_operands> moved(operand const* x, nest_part const& part) {
  std::array<operand, max_operands> there{};
  for (std::size_t k = 0; k + 1 < static_cast<std::size_t>(part.steps.operands); ++k)
    there[k] = {static_cast<std::byte const*>(x[k].start) + part.offset[k] * x[k].data->size, x[k].data};
  return there;
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
