// Tasks: what an operation asks of its machine, as a value. A new task needs steps, a price and a kernel; no
// machine changes.
//
//   steps    `Steps::plan(loops, extents)` makes them for a layout, for a process that holds less than
//            others, and for the search for a layout
//   task     an element type, and numbers that are known only at run time; `task.work(steps)` is its price
//   kernel   its member `compute(steps, place, arrays...)`, which kernel/ defines
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <type_traits>

#include <meshtf/core/counts.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/core/small_array.hpp>

namespace meshtf {
inline namespace v0 {

/// A task has at most this many arrays with dimensions, including those that it writes; a nest has fewer.
inline constexpr int max_arrays   = 8;
inline constexpr int max_operands = 5;

/// The steps of a task ask for at most this many of its loops.
inline constexpr int max_asked = 9;

/// The loops of a task, each over a dimension of type `Dim`, and its arrays, each a list of the loops that
/// walk through it, outermost in memory first.
template<class Dim>
struct loops_over {
  small_array<Dim, max_rank> dim{};
  int rank = 0;
  small_array<dim_list, max_arrays> operand{};
  int operands = 0;
  // numbers of the loops that the steps ask for
  small_array<int, max_asked> along{-1, -1, -1, -1, -1, -1, -1, -1, -1};

  constexpr void add_dim(Dim const& d) { dim[static_cast<std::size_t>(rank++)] = d; }
  constexpr void add_array(dim_list const& dims) { operand[static_cast<std::size_t>(operands++)] = dims; }

  constexpr std::span<Dim const> dims() const { return dim.first(rank); }
  constexpr std::span<dim_list const> arrays() const { return operand.first(operands); }
};

using task_loops = loops_over<placed>;

/// The local extent of each loop on one process, which is its number of iterations; the allocated extent of
/// the arrays; and the global extent.
struct loop_extents {
  small_array<extent, max_rank> local{};
  small_array<extent, max_rank> allocated{};
  small_array<extent, max_rank> global{};
  int rank = 0;

  constexpr std::span<extent const> local_extents() const { return local.first(rank); }
  constexpr std::span<extent const> allocated_extents() const { return allocated.first(rank); }

  /// Whether steps may leave out the loop over `dim`, since it makes one iteration in this process. It asks
  /// for the local extent: a shard that allocates one element may be empty, and then the loop makes no
  /// iteration, but the nest without it would make one. So processes may have different loops; what all of
  /// them must agree on, as the sizes of messages and memory, depends on `allocated` alone.
  constexpr bool makes_one_iteration(int dim) const { return local[dim] == 1; }
};

/// The extents of a process whose parts are full. These are priced, and no process exceeds them.
constexpr loop_extents full_extents(task_loops const& l) {
  loop_extents e{.rank = l.rank};
  for (int i = 0; i < l.rank; ++i) {
    e.local[i] = e.allocated[i] = l.dim[i].allocated_extent();
    e.global[i]                 = l.dim[i].size;
  }
  return e;
}

/// The same while there are as many elements as `now` says. The first part of a dimension is the fullest.
constexpr loop_extents full_extents(task_loops const& l, counts const& counted) {
  loop_extents e = full_extents(l);
  for (int i = 0; i < l.rank; ++i) {
    e.global[i] = counted.of(l.dim[i].counted, l.dim[i].size);
    e.local[i]  = l.dim[i].local_extent(0, e.global[i]);
  }
  return e;
}

/// Steps planned from loops and their extents in one process. `Steps::needs_whole` says that the loops they
/// ask for must not be split.
template<class S>
concept TaskSteps = requires(task_loops const& l, loop_extents const& e) {
  { S::plan(l, e) } -> std::same_as<S>;
};

/// Steps that are not the same on all processes, since some hold less of a dimension than others, or not
/// always the same, since elements are counted at run time. Each process plans its own from the loops, once
/// for each count; the steps of the fullest process are priced.
template<class Steps>
struct uneven_steps {
  // of static storage, so machines keep what they have planned by its address
  task_loops const* loops = nullptr;
  Steps fullest{};  // while every counted dimension has its largest extent
};

/// The extents of the process at `here` while there are as many elements as `now` says.
constexpr loop_extents extents_at(task_loops const& l, place_in_mesh const& here, counts const& counted) {
  loop_extents e = full_extents(l, counted);
  for (int i = 0; i < l.rank; ++i)
    e.local[i] = l.dim[i].local_extent(here.part_of(l.dim[i].over), e.global[i]);
  return e;
}

/// The steps of the fullest process, while there are as many elements as `now` says. If steps need memory
/// (`Steps::enlarge_scratch_for`), it is the most that any process needs: of each uneven dimension a process
/// holds a full part, the one part that is smaller, or nothing.
template<class Steps>
constexpr Steps plan_fullest(task_loops const& l, counts const& counted = {}) {
  loop_extents const full = full_extents(l, counted);
  Steps fullest           = Steps::plan(l, full);
  if constexpr (requires { fullest.enlarge_scratch_for(fullest); }) {
    unsigned uneven = 0;
    for (int i = 0; i < l.rank; ++i)
      if (full.global[i] > full.allocated[i] && full.global[i] % full.allocated[i] != 0) uneven |= 1U << i;
    // all sets of dimensions of which a process may hold the smaller part
    for (unsigned less = uneven; less != 0; less = (less - 1) & uneven) {
      loop_extents e = full;
      for (int i = 0; i < l.rank; ++i)
        if ((less >> i & 1U) != 0) e.local[i] = full.global[i] % full.allocated[i];
      fullest.enlarge_scratch_for(Steps::plan(l, e));
    }
  }
  return fullest;
}

namespace detail {

/// How steps are planned from loops under `L`: at once. The search keeps the loops until parts are known
/// (search/undecided_plans.hpp).
template<class L>
struct planning_under {
  template<class Steps, class Loops>
  using type = std::conditional_t<is_uneven<L, Loops>, uneven_steps<Steps>, Steps>;

  template<class Steps>
  static constexpr Steps plan(task_loops const& loops) {
    return Steps::plan(loops, full_extents(loops));
  }
};

}  // namespace detail

/// The type of a plan over the dimensions `Loops` under `L`: `Steps`, or `uneven_steps` if processes hold
/// unequally much. It is not deduced, so asking for a verdict plans nothing.
template<class L, class Steps, class Loops>
using steps_under = typename detail::planning_under<L>::template type<Steps, Loops>;

/// The shapes of a task's arrays.
template<class... S>
struct arrays_of {};

namespace detail {

/// `n` dimensions, arrays and loops that are asked for. (Pointers: a span that is made from an array costs
/// the compiler more than all of this.)
template<class Dim>
constexpr loops_over<Dim> loops_of(Dim const* dims, int n, dim_list const* arrays, int array_count,
                                   int const* along, int along_count) {
  loops_over<Dim> loops;
  for (int i = 0; i < n; ++i) loops.add_dim(dims[i]);
  for (int i = 0; i < array_count; ++i) loops.add_array(arrays[i]);
  for (int i = 0; i < along_count; ++i) loops.along[i] = along[i];
  return loops;
}

/// The arrays of a task, and the loops that it asks for, as numbers of the dimensions `Loops`; each list ends
/// with one that nobody uses.
template<class Loops, class... S>
inline constexpr dim_list arrays_within[]{dims_within<Loops, S>..., dim_list{}};
template<class Loops, class... Along>
inline constexpr int numbers_within[]{dims_within<Loops, shape<Along>>[0]..., 0};

/// The loops of uneven steps, of which machines remember the address.
template<class L, class Steps, class Loops, class Arrays, class... Along>
inline constexpr task_loops kept_loops{};
template<class L, class Steps, class Loops, class... S, class... Along>
inline constexpr task_loops kept_loops<L, Steps, Loops, arrays_of<S...>, Along...> =
    loops_of(placed_dims<L, Loops>.data(), Loops::rank, arrays_within<Loops, S...>, int{sizeof...(S)},
             numbers_within<Loops, Along...>, int{sizeof...(Along)});

}  // namespace detail

/// The steps under `L` of a task over the dimensions `Loops` whose arrays have the shapes `S...`. They ask
/// for the loops over `Along...`.
///
/// One function for each plan: every einsum and every nest of a program comes here.
template<Layout L, class Steps, class Loops, class... Along, class... S>
constexpr steps_under<L, Steps, Loops> plan_steps(arrays_of<S...>) {
  static_assert(sizeof...(S) <= max_arrays && sizeof...(Along) <= max_asked);
  if constexpr (is_uneven<L, Loops>) {
    constexpr auto const& loops = detail::kept_loops<L, Steps, Loops, arrays_of<S...>, Along...>;
    return {&loops, plan_fullest<Steps>(loops)};
  } else {
    dim_list const arrays[]{dims_within<Loops, S>..., dim_list{}};
    int const along[]{dims_within<Loops, shape<Along>>[0]..., 0};
    auto const loops = detail::loops_of(placed_dims<L, Loops>.data(), Loops::rank, arrays, int{sizeof...(S)},
                                        along, int{sizeof...(Along)});
    return detail::planning_under<L>::template plan<Steps>(loops);
  }
}

}  // namespace v0
}  // namespace meshtf
