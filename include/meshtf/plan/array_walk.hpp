// Walks over several arrays: where each begins for each index of some dimensions.
#pragma once

#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {

/// Loops over up to `max_arrays` arrays.
struct array_walk {
  int rank          = 0;
  extent iterations = 1;
  small_array<extent, max_rank> size{};
  small_array<small_array<extent, max_rank>, max_arrays> stride{};

  constexpr std::span<extent const> sizes() const { return size.first(rank); }

  /// The loops among the first array's for which `chosen(loop)`.
  template<class F>
  static constexpr array_walk plan(task_loops const& l, loop_extents const& e, F const& chosen) {
    array_walk walk;
    for (int d : l.operand[0])
      if (chosen(d)) {
        walk.iterations *= e.local[d];
        walk.size[walk.rank] = e.local[d];
        for (int k = 0; k < l.operands; ++k)
          walk.stride[k][walk.rank] = strides_of(l.operand[k], e.allocated_extents())[d];
        ++walk.rank;
      }
    return walk;
  }
};

}  // namespace v0
}  // namespace meshtf
