// What a slice of some elements along a dimension will do, decided before it runs.
#pragma once

#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// A slice needs all elements of `Dim`, which is split over `Axes`. First reshard to a layout in which it is
/// whole.
template<class Dim, class Axes>
struct sliced_dim_is_split {};

/// `Part` has more elements than `Dim`.
template<class Part, class Dim>
struct slice_is_larger_than_dim {};

/// A copy between a part, which has a dimension of its own, and its place along a dimension of a larger
/// array.
struct part_steps {
  nest_steps copy{};  // from the larger array to the part
  extent stride = 1;  // in the larger array, from one element along its dimension to the next

  static constexpr bool needs_whole = true;

  /// Arrays: the larger array and the part. It asks for the loops over the larger array's dimension and over
  /// the part's own.
  static constexpr part_steps plan(task_loops const& l, loop_extents const& e) {
    int const in      = l.along[0];
    auto const larger = strides_of(l.operand[0], e.allocated_extents());
    auto const part   = strides_of(l.operand[1], e.allocated_extents());
    nest_steps nest{.rank = l.operand[1].count, .operands = 2};
    for (int i = 0; i < nest.rank; ++i) {
      int const d       = l.operand[1][i];
      nest.size[i]      = e.local[d];
      nest.stride[0][i] = larger[d == l.along[1] ? in : d];
      nest.stride[1][i] = part[d];
    }
    return {collapsed(nest), larger[in]};
  }
};

namespace task {

/// Copies out the part that begins at `first`. Arrays: the larger one, the part.
template<Element T>
struct take_part {
  using steps_type = part_steps;
  extent first     = 0;

  static constexpr meshtf::work work(part_steps const& s) {
    return {.kind = "elementwise", .bytes = detail::bytes_of_nest<T, T>(s.copy)};
  }
  void compute(part_steps const&, place_in_mesh const&, T const* whole, T* part) const;
};

/// Copies the part to its place, which begins at `first`. Arrays: the larger one, the part.
template<Element T>
struct put_part {
  using steps_type = part_steps;
  extent first     = 0;

  static constexpr meshtf::work work(part_steps const& s) { return take_part<T>::work(s); }
  void compute(part_steps const&, place_in_mesh const&, T* whole, T const* part) const;
};

}  // namespace task

namespace detail {

/// Whether `D` is whole, or may be: a record notes which dimensions must not be split.
template<class L, class D>
inline constexpr bool may_be_whole = always_placed<L, D>.parts == 1;

/// Whether `D` is whole, or of a record, stays whole: otherwise each process may keep its part of a result
/// along it.
template<class L, class D>
inline constexpr bool stays_whole = split_over<L, shape<D>> == 0;

/// Whether parts of `D` and `E` with the same number are in one process and have the same allocated extent,
/// the same number of elements, so that what is sliced from one or padded to the other moves by few elements.
template<class L, class D, class E>
inline constexpr bool parts_correspond = [] {
  if constexpr (CountedDimension<D> || CountedDimension<E>) return false;
  else {
    constexpr placed d = always_placed<L, D>;
    constexpr placed e = always_placed<L, E>;
    return d.parts > 1 && d.over == e.over && d.allocated_extent() == e.allocated_extent();
  }
}();

template<class L, class D>
using sliced_whole = std::conditional_t<may_be_whole<L, D>, legal, sliced_dim_is_split<D, axes_of<L, D>>>;

}  // namespace detail

/// `To::size` neighbours along `From` of a tensor of shape `X`, as the dimension `To`. If `To` is split, they
/// are first taken as a whole dimension, and each process then keeps its own part. If parts of both
/// correspond, the elements move along `From` first, some of them to the process next to it, and its last
/// ones are left out.
template<Layout L, class X, class From, class To>
struct slice_plan {
  using result = replaced<X, From, shape<To>>;
  using whole =
      std::conditional_t<detail::parts_correspond<L, From, To>, legal, detail::sliced_whole<L, From>>;
  using fits    = std::conditional_t<To::size <= From::size, legal, slice_is_larger_than_dim<To, From>>;
  using verdict = first_objection<detail::dims_are_in<X, From>, fits, placement_verdict_of<L, X>, whole,
                                  placement_verdict_of<L, result>>;

  static constexpr steps_under<L, part_steps, united<X, shape<To>>> part =
      plan_steps<L, part_steps, united<X, shape<To>>, From, To>(arrays_of<X, result>{});
};

/// `legal`, or the objection to `slice<From, To>` of a tensor of shape `X`.
template<Layout L, class X, class From, class To>
using slice_verdict = typename slice_plan<L, X, From, To>::verdict;

}  // namespace v0
}  // namespace meshtf
