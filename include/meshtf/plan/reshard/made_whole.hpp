// What it costs to make a split dimension whole first, for the verdicts of operations that need all of it.
#pragma once

#include <algorithm>

#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace meshtf {
inline namespace v0 {

/// In a verdict: the axes that split a dimension, and the bytes that one process would send for the cheapest
/// reshard after which it is whole. Assertions show it; programs that ask for a verdict get the axes alone.
template<extent Bytes, class... Axes>
struct reshard_for;

/// Bytes that one process sends to have dimension number `dim` whole: for an all-gather of it, or, where that
/// is cheaper, for an all-to-all after which its axes split another dimension. `unreduced` is added up on the
/// way.
constexpr extent sent_to_make_whole(std::span<placed const> dims, int dim, axis_set unreduced,
                                    std::span<extent const> axes, extent element_bytes) {
  int const rank  = static_cast<int>(dims.size());
  placed whole    = dims[static_cast<std::size_t>(dim)];
  whole.parts     = 1;
  whole.over      = {};
  extent cheapest = -1;
  for (int other = 0; other < rank; ++other) {
    small_array<placed, max_rank> to{};
    for (int d = 0; d < rank; ++d) to[d] = dims[static_cast<std::size_t>(d)];
    if (other != dim) {
      to[other].parts *= to[dim].parts;
      for (int axis : to[dim].over) to[other].over.push_back(axis);
      if (to[other].uneven()) continue;
    }
    to[dim]         = whole;
    auto const plan = plan_reshard(dims, to.first(rank), unreduced, axes);
    if (plan.fault.reason != reshard_fault::none) continue;
    extent const sent = plan.sent_bytes(element_bytes);
    cheapest          = cheapest < 0 ? sent : std::min(cheapest, sent);
  }
  return std::max(cheapest, extent{0});
}

}  // namespace v0
}  // namespace meshtf
