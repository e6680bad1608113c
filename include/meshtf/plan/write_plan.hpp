// What writing a part into a dimension of a tensor will do, decided before it runs.
#pragma once

#include <algorithm>

#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// A part that is written along `Dim` has the dimensions of the tensor, in their order, with one of its own
/// in place of `Dim`. This one has `Part`.
template<class Dim, class Part>
struct written_part_has_other_dims {};

/// Each process writes the elements that it has of the dimension, so it needs the whole part, but `Own` is
/// split over `Axes`. First reshard the part to a layout in which `Own` is whole.
template<class Own, class Axes>
struct written_part_is_split {};

/// Where a part with a dimension of its own goes in a larger array whose dimension may be split.
struct write_steps {
  nest_steps copy{};  // over the part: the larger array, then the part
  int own = 0;        // the loop over the part's own dimension
  // elements of the larger array's dimension: of this process, and of every process
  extent local     = 1;
  extent allocated = 1;
  axis_list over{};  // the axes that split it

  static constexpr bool needs_whole = true;

  /// Arrays: the larger array and the part. It asks for the loop over the part's own dimension.
  static constexpr write_steps plan(task_loops const& l, loop_extents const& e) {
    dim_list const& whole = l.operand[0];
    dim_list const& part  = l.operand[1];
    int in                = 0;
    for (int d : whole)
      if (!part.has(d)) in = d;
    auto const in_whole = strides_of(whole, e.allocated_extents());
    auto const in_part  = strides_of(part, e.allocated_extents());
    write_steps s{.copy      = {.rank = part.count, .operands = 2},
                  .local     = e.local[in],
                  .allocated = e.allocated[in],
                  .over      = l.dim[in].over};
    for (int i = 0; i < part.count; ++i) {
      int const d         = part[i];
      s.copy.size[i]      = e.local[d];
      s.copy.stride[0][i] = in_whole[d == l.along[0] ? in : d];
      s.copy.stride[1][i] = in_part[d];
      if (d == l.along[0]) s.own = i;
    }
    return s;
  }

  /// Elements of the part that a process may have to write: its own part of the dimension may be shorter.
  constexpr extent max_elements() const {
    extent n = 1;
    for (int i = 0; i < copy.rank; ++i) n *= i == own ? std::min(copy.size[i], local) : copy.size[i];
    return n;
  }
};

/// The elements that one process copies: in both arrays the first, and the loops.
struct write_range {
  extent in_whole = 0;
  extent in_part  = 0;
  nest_steps copy{};  // no iterations if the process has none of the elements

  /// For a part that begins at `first`, in the process at `here`.
  constexpr write_range(write_steps const& s, extent first, place_in_mesh const& here) {
    extent const mine  = s.over.count == 0 ? 0 : here.part_of(s.over) * s.allocated;
    extent const n     = s.copy.size[s.own];
    extent const begin = std::max(first, mine);
    extent const end   = std::min(first + n, mine + s.local);
    nest_steps nest    = s.copy;
    nest.size[s.own]   = std::max(end - begin, extent{0});
    in_whole           = (begin - mine) * s.copy.stride[0][s.own];
    in_part            = (begin - first) * s.copy.stride[1][s.own];
    copy               = collapsed(nest);
  }
};

namespace task {

/// Copies the part to its place, which begins at `first`: the elements that the process has. Arrays: the
/// larger one, the part.
template<Element T>
struct write_part {
  using steps_type = write_steps;
  extent first     = 0;

  static constexpr meshtf::work work(write_steps const& s) {
    return {.kind = "elementwise", .bytes = 2 * s.max_elements() * extent{sizeof(T)}};
  }
  void compute(write_steps const&, place_in_mesh const&, T* whole, T const* part) const;
};

/// Moves the elements that the part was written to out into it, and leaves zeros: the gradient of
/// `write_part`. Arrays: the larger one, the part.
template<Element T>
struct move_part_out {
  using steps_type = write_steps;
  extent first     = 0;

  static constexpr meshtf::work work(write_steps const& s) {
    return {.kind = "elementwise", .bytes = 3 * s.max_elements() * extent{sizeof(T)}};
  }
  void compute(write_steps const&, place_in_mesh const&, T* whole, T* part) const;
};

}  // namespace task

namespace detail {

/// The dimension that only the part has; void if there are none or several.
template<class Own>
struct only_dim : std::type_identity<void> {};
template<class D>
struct only_dim<shape<D>> : std::type_identity<D> {};

template<class L, class X, class Dim, class Part, class Own>
struct writing {
  using fits  = std::conditional_t<std::is_same_v<replaced<X, Dim, shape<Own>>, Part>, legal,
                                   written_part_has_other_dims<Dim, Part>>;
  using size  = std::conditional_t<Own::size <= Dim::size, legal, slice_is_larger_than_dim<Own, Dim>>;
  using whole = std::conditional_t<may_be_whole<L, Own>, legal, written_part_is_split<Own, axes_of<L, Own>>>;
  using verdict = first_objection<dims_are_in<X, Dim>, fits, size, placement_verdict_of<L, X>, whole>;
};
template<class L, class X, class Dim, class Part>
struct writing<L, X, Dim, Part, void> {
  using verdict = first_objection<dims_are_in<X, Dim>, written_part_has_other_dims<Dim, Part>>;
};

}  // namespace detail

/// A part of shape `Part` written into a tensor of shape `X` along `Dim`. Where `Dim` is split, each process
/// writes what it has, and the gradient of the part is finished over its axes.
template<Layout L, class X, class Dim, class Part>
struct write_plan {
  using own     = typename detail::only_dim<without<Part, X>>::type;
  using verdict = typename detail::writing<L, X, Dim, Part, own>::verdict;
  using loops   = united<X, Part>;

  static constexpr steps_under<L, write_steps, loops> part =
      plan_steps<L, write_steps, loops, own>(arrays_of<X, Part>{});
  static constexpr axis_set finished_over = split_over<L, shape<Dim>>;
};

/// `legal`, or the objection to `write<Dim>` of a part of shape `Part` into a tensor of shape `X`.
template<Layout L, class X, class Dim, class Part>
using write_verdict = typename write_plan<L, X, Dim, Part>::verdict;

}  // namespace v0
}  // namespace meshtf
