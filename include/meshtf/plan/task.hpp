// Tasks: what an operation asks of its machine, as a value. A new task needs steps, a price and a kernel; no machine changes.
//
//   steps    `Steps::plan(loops, extents)` makes them for a layout, for a process that holds less than others, and for the search for a layout
//   task     an element type, and numbers that are known only at run time; `task.work(steps)` is its price
//   kernel   an overload `compute(task, steps, place, arrays...)` in kernel/, found by the task's type
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <type_traits>

#include <meshtf/core/small_array.hpp>
#include <meshtf/core/undecided_layout.hpp>

namespace meshtf {
inline namespace v0 {

/// A task has at most this many arrays with dimensions, including those that it writes.
inline constexpr int max_operands = 5;

/// The loops of a task, each over a dimension of type `Dim`, and its arrays, each a list of the loops that walk through it, outermost in memory
/// first.
template<class Dim>
struct loops_over {
  small_array<Dim, max_rank> dim{};
  int rank = 0;
  small_array<dim_list, max_operands> operand{};
  int operands = 0;
  small_array<int, 3> along{-1, -1, -1};  // numbers of the loops that the steps ask for

  constexpr void add_dim(Dim const& d) { dim[static_cast<std::size_t>(rank++)] = d; }
  constexpr void add_array(dim_list const& dims) { operand[static_cast<std::size_t>(operands++)] = dims; }

  constexpr std::span<Dim const> dims() const { return dim.first(rank); }
  constexpr std::span<dim_list const> arrays() const { return operand.first(operands); }
};

using task_loops      = loops_over<placed>;
using undecided_loops = loops_over<undecided_dim>;

/// The turns of each loop in one process, and the elements that the arrays have room for.
struct loop_extents {
  small_array<extent, max_rank> held{}, stored{};
  int rank = 0;

  constexpr std::span<extent const> loops() const { return held.first(rank); }
  constexpr std::span<extent const> storage() const { return stored.first(rank); }
};

/// The extents of a process whose parts are full. These are priced, and no process exceeds them.
constexpr loop_extents full_extents(task_loops const& l) {
  loop_extents e{.rank = l.rank};
  for (int i = 0; i < l.rank; ++i) e.held[i] = e.stored[i] = l.dim[i].room();
  return e;
}

/// Steps planned from loops and their extents in one process. `Steps::needs_whole` says that the loops they ask for must not be split.
template<class S>
concept TaskSteps = requires(task_loops const& l, loop_extents const& e) {
  { S::plan(l, e) } -> std::same_as<S>;
};

/// Steps under an undecided layout: the loops from which they will be planned.
template<class Steps>
struct undecided_steps {
  undecided_loops loops{};
};

namespace detail {

template<class L, class Steps>
struct steps_for {
  using type  = Steps;
  using loops = task_loops;
};
template<class... D, class Steps>
struct steps_for<undecided_layout<D...>, Steps> {
  using type  = undecided_steps<Steps>;
  using loops = undecided_loops;
};

}  // namespace detail

/// The type of a plan under `L`: `Steps`, or `undecided_steps` for an undecided layout. It is not deduced, so asking for a verdict plans nothing.
template<class L, class Steps>
using steps_under = typename detail::steps_for<L, Steps>::type;

/// The shapes of a task's arrays.
template<class... S>
struct arrays_of {};

/// The steps under `L` of a task over the dimensions `Loops` whose arrays have the shapes `S...`. They ask for the loops over `Along...`.
///
/// One function for each plan: every einsum and every nest of a program comes here.
template<Layout L, class Steps, class Loops, class... Along, class... S>
constexpr steps_under<L, Steps> plan_steps(arrays_of<S...>) {
  static_assert(sizeof...(S) <= max_operands && sizeof...(Along) <= 3);
  typename detail::steps_for<L, Steps>::loops loops;
  for (auto const& d : placed_dims<L, Loops>) loops.add_dim(d);
  (loops.add_array(dims_within<Loops, S>), ...);
  std::size_t asked = 0;
  ((loops.along[asked++] = dims_within<Loops, shape<Along>>[0]), ...);
  if constexpr (is_undecided<L>) return {loops};
  else return Steps::plan(loops, full_extents(loops));
}

}  // namespace v0
}  // namespace meshtf
