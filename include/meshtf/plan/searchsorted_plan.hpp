// What searchsorted will do, decided before it runs.
#pragma once

#include <bit>
#include <cstdint>

#include <meshtf/plan/gather_plan.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Where a value stands in a sequence that has elements equal to it: before them, or after them.
struct search_side {
  bool right = false;
};

/// A search needs all elements of `Dim`, which is split over `Axes`. First reshard to a layout in which it is
/// whole.
template<class Dim, class Axes>
struct search_along_split_dim {};

/// The values are looked for along `Dim`, so they can't have it themselves: `rename` it in one of the two.
/// Other dimensions of the sequences they may have: each element of these has a sequence of its own.
template<class Dim>
struct values_have_searched_dim {};

/// The lines of a gather, with sequences as the table and values as the ids, which are found instead.
struct search_steps : gather_steps {
  static constexpr bool needs_whole = true;

  /// Arrays: the sequences, the values and the result. It asks for the loop along the sequences.
  static constexpr search_steps plan(task_loops const& l, loop_extents const& e) {
    return {gather_steps::plan(l, e)};
  }
  /// Elements of a sequence that a value is compared with.
  constexpr extent compared() const {
    return static_cast<extent>(std::bit_width(static_cast<std::uint64_t>(lines.along)));
  }
};

namespace task {

/// For each value how many elements of its sequence are less, or, from the right, not larger; NaNs are larger
/// than numbers. Arrays: the sequences, the values, the counts.
template<Element T>
struct search {
  using steps_type = search_steps;
  bool right       = false;

  static constexpr meshtf::work work(search_steps const& s) {
    return {.kind        = "gather",
            .elementwise = s.elements() * s.compared(),
            .bytes       = s.ids * extent{sizeof(T)} +
                     s.elements() * (s.compared() * extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  void compute(search_steps const&, place_in_mesh const&, T const* sequence, T const* values,
               std::int32_t* found) const;
};

}  // namespace task

/// Values of shape `Values` in sequences of shape `Sequence` along `Along`. A dimension that both have is
/// walked through in step, however the layout splits it. Nothing is sent.
template<Layout L, class Sequence, class Along, class Values>
struct searchsorted_plan {
  using result  = united<Values, without<Sequence, shape<Along>>>;
  using loops   = united<Values, Sequence>;
  using apart   = std::conditional_t<Values::template has<Along>, values_have_searched_dim<Along>, legal>;
  using whole   = std::conditional_t<detail::may_be_whole<L, Along>, legal,
                                     search_along_split_dim<Along, axes_of<L, Along>>>;
  using verdict = first_objection<detail::dims_are_in<Sequence, Along>, apart, detail::index_verdict<Along>,
                                  placement_verdict_of<L, loops>, whole>;

  static constexpr steps_under<L, search_steps, loops> lines =
      plan_steps<L, search_steps, loops, Along>(arrays_of<Sequence, Values, result>{});
};

}  // namespace v0
}  // namespace meshtf
