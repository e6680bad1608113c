// The calls that make an all-reduce, decided before it runs: one call, or the halves and levels that take
// less time for long arrays.
#pragma once

#include <span>

#include <meshtf/core/placed.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/links.hpp>

namespace meshtf {
inline namespace v0 {

/// One call of an all-reduce, over the axes `over`. The process works on a range of the array, at first the
/// whole array: a reduce-scatter narrows the range to the process's own part, and an all-gather restores the
/// range before. `count` is the number of elements in the range for an all-reduce, and in one part for the
/// other two. `type` is what travels; if it is wider than the array's, the array is widened for this call and
/// rounded after it.
struct all_reduce_call {
  collective kind = collective::all_reduce;
  extent count    = 0;
  axis_set over   = 0;
  element type    = element::float32;
};

struct all_reduce_steps {
  small_array<all_reduce_call, 4> call{};
  int count = 0;

  constexpr void push_back(all_reduce_call const& c) { call[count++] = c; }
  constexpr auto begin() const { return call.begin(); }
  constexpr auto end() const { return call.begin() + count; }
};

/// The calls that join `n` elements over the axes `over` of `M`; none if there are no axes. A pairwise
/// reduce-scatter adds narrow elements in a wider type and rounds each sum once, so it sends them as they
/// are.
template<Mesh M>
constexpr all_reduce_steps plan_all_reduce(reduction op, extent n, element type, axis_set over) {
  extent const element_bytes = bytes_of(type);
  all_reduce_steps steps;
  if (over == 0) return steps;
  sum_by_link sum;
  if constexpr (axes_between_nodes<M> != 0) sum = by_link<M>(over);
  bool const by_nodes = sum.between != 0 && reduces_by_nodes(n, element_bytes, sum.processes, sum.nodes);
  extent const whole  = n / sum.processes;
  if (by_nodes) {
    steps.push_back({collective::reduce_scatter, whole, sum.within, type});
    n    = whole;
    over = sum.between;
  }
  if (extent const processes = processes_along(axis_sizes<M>, over);
      reduces_in_parts(n, element_bytes, processes)) {
    steps.push_back({collective::reduce_scatter, n / processes, over, type});
    steps.push_back({collective::all_gather, n / processes, over, type});
  } else {
    steps.push_back({collective::all_reduce, n, over, op == reduction::sum ? added_as(type) : type});
  }
  if (by_nodes) steps.push_back({collective::all_gather, whole, sum.within, type});
  return steps;
}

/// Carries out an all-reduce of the array at `data`, in place. `machine` makes the calls; what has no data (a
/// ledger, a record's price) does as if its process had rank 0 along all axes.
template<class Machine, class T>
constexpr void carry_out(all_reduce_steps const& steps, Machine&& machine, reduction op, T* data) {
  for (all_reduce_call const& c : steps) {
    switch (c.kind) {
      case collective::reduce_scatter: {
        T* const own_part = data + machine.rank_along(c.over) * c.count;
        machine.reduce_scatter(op, static_cast<T const*>(data), c.count, own_part, c.over);
        data = own_part;
        break;
      }
      case collective::all_gather: {
        data -= machine.rank_along(c.over) * c.count;
        machine.all_gather(data, c.count, c.over);
        break;
      }
      default: machine.all_reduce_at_once(op, c.type, data, c.count, c.over);
    }
  }
}

}  // namespace v0
}  // namespace meshtf
