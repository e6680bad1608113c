// The calls that make an all-reduce, decided before it runs: one call, or the halves and levels that take less time for long arrays.
#pragma once

#include <span>

#include <meshtf/core/placed.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/links.hpp>

namespace meshtf {
inline namespace v0 {

/// One call of an all-reduce, over the axes `over`. The process works on a range of the array, at first the whole array: a reduce-scatter narrows the
/// range to the process's own part, and an all-gather restores the range before. `count` is the number of elements in the range for an all-reduce,
/// and in one part for the other two.
struct all_reduce_call {
  collective kind = collective::all_reduce;
  extent count    = 0;
  axis_set over   = 0;
};

struct all_reduce_steps {
  small_array<all_reduce_call, 4> call{};
  int count = 0;

  constexpr void push_back(all_reduce_call const& c) { call[count++] = c; }
  constexpr auto begin() const { return call.begin(); }
  constexpr auto end() const { return call.begin() + count; }
};

/// The calls that add up `n` elements over the axes `over` of `M`; none if there are no axes.
template<Mesh M>
constexpr all_reduce_steps plan_all_reduce(extent n, extent element_bytes, axis_set over) {
  all_reduce_steps steps;
  if (over == 0) return steps;
  sum_by_link sum;
  if constexpr (axes_between_nodes<M> != 0) sum = by_link<M>(over);
  bool const by_nodes = sum.between != 0 && reduces_by_nodes(n, element_bytes, sum.processes, sum.nodes);
  extent const whole  = n / sum.processes;
  if (by_nodes) {
    steps.push_back({collective::reduce_scatter, whole, sum.within});
    n    = whole;
    over = sum.between;
  }
  if (extent const processes = processes_along(axis_sizes<M>, over); reduces_in_parts(n, element_bytes, processes)) {
    steps.push_back({collective::reduce_scatter, n / processes, over});
    steps.push_back({collective::all_gather, n / processes, over});
  } else {
    steps.push_back({collective::all_reduce, n, over});
  }
  if (by_nodes) steps.push_back({collective::all_gather, whole, sum.within});
  return steps;
}

}  // namespace v0
}  // namespace meshtf
