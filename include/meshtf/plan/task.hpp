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

#include <meshtf/core/undecided_layout.hpp>

namespace meshtf {
inline namespace v0 {

/// A task has at most this many arrays with dimensions, including those that it writes.
inline constexpr int max_operands = 5;

/// The loops of a task, each over a dimension of type `Dim`, and its arrays, each a list of the loops that walk through it, outermost in memory
/// first.
template<class Dim>
struct loops_over {
  std::array<Dim, max_rank> dim{};
  int rank = 0;
  std::array<dim_list, max_operands> operand{};
  int operands = 0;
  std::array<int, 3> along{-1, -1, -1};  // numbers of the loops that the steps ask for

  constexpr loops_over() = default;
  constexpr loops_over(std::span<Dim const> dims, std::span<dim_list const> arrays, std::span<int const> asked = {})
      : rank(static_cast<int>(dims.size())), operands(static_cast<int>(arrays.size())) {
    for (std::size_t i = 0; i < dims.size(); ++i) dim[i] = dims[i];
    for (std::size_t i = 0; i < arrays.size(); ++i) operand[i] = arrays[i];
    for (std::size_t i = 0; i < asked.size(); ++i) along[i] = asked[i];
  }

  constexpr std::span<Dim const> dims() const { return {dim.data(), static_cast<std::size_t>(rank)}; }
  constexpr std::span<dim_list const> arrays() const { return {operand.data(), static_cast<std::size_t>(operands)}; }
};

using task_loops      = loops_over<placed>;
using undecided_loops = loops_over<undecided_dim>;

/// The turns of each loop in one process, and the elements that the arrays have room for.
struct loop_extents {
  std::array<extent, max_rank> held{}, stored{};
  int rank = 0;

  constexpr std::span<extent const> loops() const { return {held.data(), static_cast<std::size_t>(rank)}; }
  constexpr std::span<extent const> storage() const { return {stored.data(), static_cast<std::size_t>(rank)}; }
};

/// The extents of a process whose parts are full. These are priced, and no process exceeds them.
constexpr loop_extents full_extents(task_loops const& l) {
  loop_extents e{.rank = l.rank};
  for (std::size_t i = 0; i < static_cast<std::size_t>(l.rank); ++i) e.held[i] = e.stored[i] = l.dim[i].room();
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
struct steps_for : std::type_identity<Steps> {};
template<class... D, class Steps>
struct steps_for<undecided_layout<D...>, Steps> : std::type_identity<undecided_steps<Steps>> {};

}  // namespace detail

/// The type of a plan under `L`: `Steps`, or `undecided_steps` for an undecided layout. It is not deduced, so asking for a verdict plans nothing.
template<class L, class Steps>
using steps_under = typename detail::steps_for<L, Steps>::type;

/// The shapes of a task's arrays.
template<class... S>
struct arrays_of {};

namespace detail {

template<class L, class Steps, class Loops, class Arrays>
struct planner;

template<class L, class Steps, class Loops, class... S>
struct planner<L, Steps, Loops, arrays_of<S...>> {
  static_assert(sizeof...(S) <= max_operands);

  static constexpr steps_under<L, Steps> plan(std::span<int const> along) {
    constexpr std::array<dim_list, sizeof...(S)> arrays{dims_within<Loops, S>...};
    if constexpr (is_undecided<L>) {
      return {{placed_dims<L, Loops>, arrays, along}};
    } else {
      task_loops const loops{placed_dims<L, Loops>, arrays, along};
      return Steps::plan(loops, full_extents(loops));
    }
  }
};

}  // namespace detail

/// The steps under `L` of a task over the dimensions `Loops` whose arrays have the shapes in `Arrays`. They ask for the loops over `Along...`.
template<Layout L, class Steps, class Loops, class Arrays, class... Along>
constexpr steps_under<L, Steps> plan_steps() {
  constexpr std::array<int, sizeof...(Along)> along{dims_within<Loops, shape<Along>>[0]...};
  return detail::planner<L, Steps, Loops, Arrays>::plan(along);
}

}  // namespace v0
}  // namespace meshtf
