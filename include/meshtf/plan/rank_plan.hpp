// What sort, argsort, top_k and nth_element will do, decided before they run.
#pragma once

#include <algorithm>
#include <cstdint>

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// How elements are ordered. NaNs come last, whatever the order.
struct ordering {
  bool descending = false;
};

/// A sort needs all elements of `Dim`, which is split over `Axes`. First reshard to a layout in which it is
/// whole.
template<class Dim, class Axes>
struct sort_along_split_dim {};

/// The result has the best of `Dim` along `K`, which has more elements than `Dim`.
template<class K, class Dim>
struct k_is_larger_than_dim {};

/// The best elements are known along the whole of `K`, which the layout splits over `Axes`. Take them along a
/// dimension that is whole and `rename` it.
template<class K, class Axes>
struct ranks_are_split {};

/// The elements of `Dim` are number 0 to `Size` - 1, so there is no number `N`.
template<class Dim, extent Size, extent N>
struct dim_has_no_element_number {};

/// Lines, of each of which the first elements in order are kept. The blocks and the line stride are those of
/// the operand and of the result.
struct rank_steps {
  line_steps lines{};
  extent kept           = 1;  // elements of the result along the lines
  extent allocated_kept = 1;
  extent step           = 1;  // elements of the result from one element of a line to the next

  static constexpr bool needs_whole = true;

  /// Arrays: the operand and the result. It asks for the loop along the lines, and for the one that the
  /// result has in its place.
  static constexpr rank_steps plan(task_loops const& l, loop_extents const& e) {
    int const kept = l.along[1];
    return {.lines          = line_steps::plan(l, e, l.operand[0], l.operand[1], l.along[0]),
            .kept           = e.local[kept],
            .allocated_kept = e.allocated[kept],
            .step           = strides_of(l.operand[1], e.allocated_extents())[kept]};
  }

  /// Whether so much of a line is kept that all of it is sorted. Few elements are put in order one by one in
  /// less time.
  constexpr bool sorts_all() const {
    return (allocated_kept <= 64 ? 2 : 8) * allocated_kept >= lines.allocated;
  }
  /// Candidates that a thread keeps: all of a line twice, or twice as many as are kept.
  constexpr extent candidates() const { return 2 * (sorts_all() ? lines.allocated : allocated_kept + 32); }
};

/// The joint result of the parts of a split dimension, each of which has found the first elements of its own.
struct merge_steps {
  rank_steps ranks{};  // from the candidates of one part to the result
  extent parts       = 1;
  extent part_stride = 1;  // elements from the candidates of one part to those of the next

  /// Arrays: the candidates of one part and the result. It asks for the loop over the candidates, the one
  /// over the result, and the split one.
  static constexpr merge_steps plan(task_loops const& l, loop_extents const& e) {
    extent allocated = 1;
    for (int d : l.operand[0]) allocated *= e.allocated[d];
    return {rank_steps::plan(l, e), l.dim[l.along[2]].parts, allocated};
  }
};

namespace task {

/// The first elements of each line in order, and their indices in the whole. Equal elements stay in their
/// order, and NaNs are last. If a line has fewer elements than are kept, the indices of those that are
/// missing are -1. Arrays: x, the elements, the indices.
template<Element T>
struct rank {
  using steps_type                        = rank_steps;
  using scratch_type                      = std::int64_t;
  static constexpr bool scratch_by_thread = true;
  bool descending                         = false;

  /// Words for a candidate: its place, and the bits of an element, together or apart.
  static constexpr extent words = sizeof(computed<T>) == 4 ? 1 : 2;

  static constexpr meshtf::work work(rank_steps const& s) {
    extent const n = s.lines.rows();
    return {.kind        = "sort",
            .elementwise = n * s.lines.along,
            .bytes       = n * (s.lines.along * extent{sizeof(T)} +
                          s.kept * (extent{sizeof(T)} + extent{sizeof(std::int32_t)}))};
  }
  static constexpr extent scratch(rank_steps const& s) { return words * s.candidates(); }
  void compute(rank_steps const&, place_in_mesh const&, T const* x, T* ranked, std::int32_t* index,
               std::int64_t* scratch) const;
};

/// The first of the candidates of all parts, one part after the other. Arrays: the candidates, their indices,
/// the elements, their indices.
template<Element T>
struct merge_ranks {
  using steps_type   = merge_steps;
  using scratch_type = std::int64_t;
  bool descending    = false;

  static constexpr meshtf::work work(merge_steps const& s) {
    extent const candidates = s.parts * s.ranks.lines.along;
    return {.kind        = "sort",
            .elementwise = s.ranks.lines.rows() * candidates,
            .bytes       = s.ranks.lines.rows() * (candidates + s.ranks.kept) *
                     (extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  static constexpr extent scratch(merge_steps const& s) { return 2 * s.parts * s.ranks.lines.allocated; }
  void compute(merge_steps const&, place_in_mesh const&, T const* x, std::int32_t const* where, T* ranked,
               std::int32_t* index, std::int64_t* scratch) const;
};

/// dx = dz where the indices say, as far as this process has it; other elements stay as they are. Arrays: dz,
/// the indices, dx.
template<Element T>
struct unrank {
  using steps_type = rank_steps;
  static constexpr meshtf::work work(rank_steps const& s) {
    return {.kind  = "gather",
            .bytes = s.lines.rows() * s.kept * (2 * extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  void compute(rank_steps const&, place_in_mesh const&, T const* dz, std::int32_t const* index, T* dx) const;
};

}  // namespace task

namespace detail {

/// The first elements that one part of a split dimension finds; a part with fewer elements than `K` has no
/// more of them than it has allocated.
template<class K, extent Room>
struct ranks_of_part : dim<Room> {};
template<Layout L, class Along, class K>
using candidates_in = std::conditional_t<(K::size > placed_under<L, Along>.allocated_extent()),
                                         ranks_of_part<K, placed_under<L, Along>.allocated_extent()>, K>;

}  // namespace detail

/// The first elements in order of a tensor of shape `X` along `Along`, along `K` in its place; `Along` itself
/// for all of them.
///
/// If `Along` is split, each process finds the first ones of its part, and all gather these candidates over
/// `joined_over`.
template<Layout L, class X, class Along, class K>
struct rank_plan {
  using result  = replaced<X, Along, shape<K>>;
  using fits    = std::conditional_t<K::size <= Along::size, legal, k_is_larger_than_dim<K, Along>>;
  using whole   = std::conditional_t<std::is_same_v<K, Along> || detail::may_be_whole<L, K>, legal,
                                     ranks_are_split<K, axes_of<L, K>>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, fits, detail::index_verdict<Along>,
                                  placement_verdict_of<L, X>, whole, placement_verdict_of<L, result>>;

  static constexpr steps_under<L, rank_steps, united<X, shape<K>>> ranks =
      plan_steps<L, rank_steps, united<X, shape<K>>, Along, K>(arrays_of<X, result>{});
};

/// The same where `Along` is split. The gradient's steps are `rank_plan::ranks`.
template<Layout L, class X, class Along, class K>
struct split_rank_plan {
  using result    = replaced<X, Along, shape<K>>;
  using candidate = detail::candidates_in<L, Along, K>;
  using part      = replaced<X, Along, shape<candidate>>;
  using loops     = united<united<X, shape<candidate>>, shape<K>>;

  static constexpr axis_set joined_over = split_over<L, shape<Along>>;
  static constexpr extent parts         = placed_under<L, Along>.parts;
  static constexpr steps_under<L, rank_steps, united<X, shape<candidate>>> ranks =
      plan_steps<L, rank_steps, united<X, shape<candidate>>, Along, candidate>(arrays_of<X, part>{});
  static constexpr steps_under<L, merge_steps, loops> merge =
      plan_steps<L, merge_steps, loops, candidate, K, Along>(arrays_of<part, result>{});
};

/// `legal`, or the objection to `sort<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using sort_verdict = first_objection<typename rank_plan<L, X, Along, Along>::verdict,
                                     std::conditional_t<always_split_over<L, shape<Along>> == 0, legal,
                                                        sort_along_split_dim<Along, axes_of<L, Along>>>>;

/// `legal`, or the objection to `top_k<Along, K>` of a tensor of shape `X`. `top_k<Along, Along>` sorts: its
/// ranks are as split as `Along`.
template<Layout L, class X, class Along, class K>
using top_k_verdict =
    typename std::conditional_t<std::is_same_v<K, Along>, std::type_identity<sort_verdict<L, X, Along>>,
                                std::type_identity<typename rank_plan<L, X, Along, K>::verdict>>::type;

}  // namespace v0
}  // namespace meshtf
