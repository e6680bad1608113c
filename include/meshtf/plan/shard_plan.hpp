// What a task that depends on where elements are in the whole tensor will do, decided before it runs.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf {
inline namespace v0 {

/// The dimensions of a shard. They tell a process where its elements are in the whole tensor.
struct shard_steps {
  small_array<placed, max_rank> dim{};
  small_array<extent, max_rank> local{};
  int rank        = 0;
  extent elements = 1;  // allocated on every process

  /// It uses the first array.
  static constexpr shard_steps plan(task_loops const& l, loop_extents const& e) {
    shard_steps steps;
    for (int d : l.operand[0]) {
      steps.local[steps.rank] = e.local[d];
      steps.dim[steps.rank++] = l.dim[d];
      steps.elements *= e.allocated[d];
    }
    return steps;
  }
  constexpr std::span<placed const> dims() const { return dim.first(rank); }
  constexpr std::span<extent const> extents() const { return local.first(rank); }
};

namespace task {

/// Sets what lies past the elements that a process holds to zero, for passes that take an array as it lies.
/// No process counts it as work. Array: z.
template<Element T>
struct clear_padding {
  using steps_type = shard_steps;
  static constexpr meshtf::work work(shard_steps const&) { return {.kind = "copy"}; }
  void compute(shard_steps const&, place_in_mesh const&, T* z) const;
};

}  // namespace task

/// The steps of a tensor of shape `X`.
template<Layout L, class X>
inline constexpr steps_under<L, shard_steps, X> shard_plan = plan_steps<L, shard_steps, X>(arrays_of<X>{});

}  // namespace v0
}  // namespace meshtf
