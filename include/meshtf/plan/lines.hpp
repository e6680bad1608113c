// Lines: a tensor seen as lines along one of its dimensions.
#pragma once

#include <meshtf/core/verdict.hpp>
#include <meshtf/plan/task.hpp>

namespace meshtf {
inline namespace v0 {

/// `Dim` has `Size` elements, but an int32 index distinguishes only `Most`. `split_dim` it, and index one part after the other.
template<class Dim, extent Size, extent Most>
struct dim_is_too_long_for_an_index {};

namespace detail {

inline constexpr extent most_indices = extent{1} << 31;

/// `legal`, or the objection to an int32 as an index along `Dim`.
template<class Dim>
using index_verdict = std::conditional_t<(Dim::size <= most_indices), legal, dim_is_too_long_for_an_index<Dim, Dim::size, most_indices>>;

}  // namespace detail

/// The elements before, along and after a dimension in a row-major shard, and the axes that split the dimension.
struct line_steps {
  extent outer = 1, along = 1, inner = 1;
  extent room  = 1;  // elements along the dimension for which every process has room
  extent whole = 1;  // elements along the dimension in all processes together
  axis_list over{};

  /// It uses the first array, and asks for the loop along the lines.
  static constexpr line_steps plan(task_loops const& l, loop_extents const& e) {
    line_steps steps;
    bool before = true;
    for (int d : l.operand[0]) {
      if (d == l.along[0]) steps.along = e.held[d], steps.room = e.stored[d], steps.whole = l.dim[d].size, steps.over = l.dim[d].over, before = false;
      else (before ? steps.outer : steps.inner) *= e.held[d];
    }
    return steps;
  }

  constexpr extent rows() const { return outer * inner; }
  /// The global index of the first element of each line that the process holds.
  constexpr extent first(place_in_mesh const& here) const { return over.count == 0 ? 0 : here.part_of(over) * room; }
};

}  // namespace v0
}  // namespace meshtf
