// What a slice of some elements along a dimension will do, decided before it runs.
#pragma once

#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>

namespace meshtf::inline v0 {

/// A slice takes elements from where all of them are, but `Dim` is split over `Axes`: reshard to a layout in which it is whole first.
template<class Dim, class Axes>
struct sliced_dim_is_split {};

/// `Part` has more elements than `Dim`.
template<class Part, class Dim>
struct slice_is_larger_than_dim {};

/// The loops of a copy from the first `count` elements along a dimension to an array that has no others.
constexpr nest_steps plan_slice(line_steps const& from, extent count) {
  nest_steps nest{.rank = 3, .operands = 2};
  nest.size      = {from.outer, count, from.inner};
  nest.stride[0] = {from.along * from.inner, from.inner, 1};
  nest.stride[1] = {count * from.inner, from.inner, 1};
  return collapsed(nest);
}

/// The same the other way.
constexpr nest_steps plan_unslice(line_steps const& from, extent count) {
  nest_steps nest = plan_slice(from, count);
  std::swap(nest.stride[0], nest.stride[1]);
  return nest;
}

/// The same steps: under a layout it is known that `dims`, which an operation needs whole, are so. An undecided layout notes them.
constexpr nest_steps where_whole(nest_steps const& nest, axis_set) { return nest; }

namespace detail {

/// `D` is whole, or may be: a record notes what must not be split.
template<class L, class D>
inline constexpr bool may_be_whole = is_undecided<L> || placed_under<L, D>.parts == 1;

}  // namespace detail

/// `To::size` neighbours along `From` of a tensor of shape `X`, as the dimension `To`. Where `To` is split, they are taken as a whole dimension first, and
/// each process then keeps its own.
template<Layout L, class X, class From, class To>
struct slice_plan {
  using result  = replaced<X, From, shape<To>>;
  using whole   = std::conditional_t<detail::may_be_whole<L, From>, legal, sliced_dim_is_split<From, axes_of<L, From>>>;
  using fits    = std::conditional_t<To::size <= From::size, legal, slice_is_larger_than_dim<To, From>>;
  using verdict = first_objection<detail::dims_are_in<X, From>, fits, placement_verdict_of<L, X>, whole, placement_verdict_of<L, result>>;

  static constexpr steps_under<L, line_steps> lines = plan_lines(placed_dims<L, X>, dims_within<X, shape<From>>[0]);
  static constexpr steps_under<L, nest_steps> take  = where_whole(plan_slice(lines, To::size), split_over<L, shape<To>>);
  static constexpr steps_under<L, nest_steps> give  = where_whole(plan_unslice(lines, To::size), split_over<L, shape<To>>);
};

/// `legal`, or the objection to `slice<From, To>` of a tensor of shape `X`.
template<Layout L, class X, class From, class To>
using slice_verdict = typename slice_plan<L, X, From, To>::verdict;

}  // namespace meshtf::inline v0
