// What a shift or a roll will do, decided before it runs. Along a split dimension, the rows at the edge of
// each part go to the process next to it, and where elements move by a part or more, all rows go to two
// processes next to one another.
#pragma once

#include <meshtf/plan/displace_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// A roll goes around `Dim`, which is split over `Axes` into parts that are not all equal, or of which the
/// elements are counted at run time, so what leaves the last part does not fill the edge of the first. First
/// reshard to a layout in which it is whole. (A shift works.)
template<class Dim, class Axes>
struct rolled_parts_differ {};

/// The rows of a part of `allocated` elements that stay together when elements move by `offset`, and those
/// that go one part further. A row has the elements of one index of the dimension.
struct shifted_rows {
  // rows that go to the part after the one that takes the others, and that come from so far
  extent further = 0;
  extent stay    = 0;
  // the first of those that stay together, before and after
  extent from = 0;
  extent to   = 0;
  // the first of those that go further, and of those that come, in their places
  extent leave  = 0;
  extent arrive = 0;
  // parts
  extent stay_by  = 0;
  extent leave_by = 0;

  static constexpr shifted_rows plan(extent offset, extent allocated) {
    extent const n     = offset < 0 ? -offset : offset;
    extent const parts = n == 0 ? 0 : (n - 1) / allocated;
    extent const rows  = n - parts * allocated;
    if (offset < 0)
      return {.further  = rows,
              .stay     = allocated - rows,
              .from     = rows,
              .arrive   = allocated - rows,
              .stay_by  = -parts,
              .leave_by = -parts - 1};
    return {.further  = rows,
            .stay     = allocated - rows,
            .to       = rows,
            .leave    = allocated - rows,
            .stay_by  = parts,
            .leave_by = parts + 1};
  }
};

/// `offset` as the shortest way around a dimension of `size` elements.
constexpr extent shortest_roll(extent offset, extent size) {
  extent const forwards = (offset % size + size) % size;
  return 2 * forwards > size ? forwards - size : forwards;
}

namespace detail {

/// A part of a dimension that is split: its rows, the elements of one, the number of parts, and where they
/// are.
struct part_of_rows {
  extent allocated = 0;
  extent row       = 0;
  extent parts     = 1;
  axis_list over{};
};

}  // namespace detail

namespace task {

/// Copies `count` rows of each line, and `beyond` for rows past those that x holds. Arrays: x, z; an array of
/// rows at an edge has no others.
template<Element T>
struct copy_rows {
  using steps_type = displace_steps;
  extent count     = 0;
  extent from      = 0;
  extent to        = 0;
  bool from_edge   = false;
  bool to_edge     = false;
  T beyond{};

  constexpr meshtf::work work(displace_steps const& s) const {
    return {.kind = "copy", .bytes = 2 * count * s.outer * s.inner * extent{sizeof(T)}};
  }
  void compute(displace_steps const&, place_in_mesh const&, T const* x, T* z) const;
};

}  // namespace task

/// The elements of a tensor of shape `X` move along `Along`, which may become `To` with as many parts, and
/// those at the edges of parts to other processes.
template<Layout L, class X, class Along, class To = Along>
struct shift_plan : displace_plan<L, X, Along, To> {
  static constexpr bool exchanges = !detail::may_be_whole<L, Along>;
  static constexpr bool even      = !exchanges || !is_uneven<L, shape<Along>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>>;

  /// Where the parts are: the axes that split the dimension and join more than one process.
  static constexpr axis_list over = [] {
    axis_list joining;
    if constexpr (exchanges)
      for (int axis : placed_under<L, Along>.over)
        if (detail::among(joining_axes<typename L::mesh_type>, axis)) joining.push_back(axis);
    return joining;
  }();
  /// Elements of one row in one process.
  static constexpr extent row = [] {
    if constexpr (exchanges) return shard_size<L, X> / placed_under<L, Along>.allocated_extent();
    else return 0;
  }();
};

/// `legal`, or the objection to `shift<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using shift_verdict = typename shift_plan<L, X, Along>::verdict;

/// `legal`, or the objection to `roll<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using roll_verdict = first_objection<
    shift_verdict<L, X, Along>,
    std::conditional_t<shift_plan<L, X, Along>::even, legal, rolled_parts_differ<Along, axes_of<L, Along>>>>;

}  // namespace v0
}  // namespace meshtf
