// What stack and unstack will do, decided before they run: tensors of the same dimensions as one with a
// further dimension, and back.
#pragma once

#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// `Count` tensors are stacked along `Dim`, which has another number of elements.
template<class Dim, int Count>
struct stack_has_other_size {};

/// The tensors of a stack have the dimensions of the first; one has `Given`, not `Expected`.
template<class Expected, class Given>
struct stacked_dims_differ {};

/// A stack along `Dim`, which is split over `Axes`, can't be taken apart: no process has all of its tensors.
/// First reshard to a layout in which it is whole.
template<class Dim, class Axes>
struct stacked_dim_is_split {};

/// A stack has one tensor for each element of `Dim`, but these are counted at run time.
template<class Dim>
struct stacked_dim_is_counted {};

/// A tensor of dimensions `S` has no place number `At` for a further one.
template<class S, int At>
struct stack_has_no_such_place {};

namespace detail {

template<class S, class New, int At, class Seen = shape<>>
struct inserted_at;
template<class... D, class New, int At, class... Seen>
  requires(At == int{sizeof...(Seen)} || sizeof...(D) == 0)
struct inserted_at<shape<D...>, New, At, shape<Seen...>> : std::type_identity<shape<Seen..., New, D...>> {};
template<class First, class... D, class New, int At, class... Seen>
  requires(At != int{sizeof...(Seen)})
struct inserted_at<shape<First, D...>, New, At, shape<Seen...>>
    : inserted_at<shape<D...>, New, At, shape<Seen..., First>> {};

/// Between a stack of shape `Stack` and its tensors, which have the other dimensions.
template<class L, class Stack, class Along>
struct stacking {
  using part    = without<Stack, shape<Along>>;
  using fixed   = std::conditional_t<CountedDimension<Along>, stacked_dim_is_counted<Along>, legal>;
  using verdict = first_objection<fixed, placement_verdict_of<L, Stack>>;

  static constexpr steps_under<L, part_steps, Stack> place =
      plan_steps<L, part_steps, Stack, Along>(meshtf::arrays_of<Stack, part>{});
};

}  // namespace detail

/// `Count` tensors of shape `X` become one, with `New` in the place `At`. If `New` is split, they are stacked
/// along a whole dimension, and each process then keeps its own part.
template<Layout L, class X, class New, int At, int Count>
struct stack_plan : detail::stacking<L, typename detail::inserted_at<X, New, At>::type, New> {
  using base    = detail::stacking<L, typename detail::inserted_at<X, New, At>::type, New>;
  using result  = typename detail::inserted_at<X, New, At>::type;
  using there   = std::conditional_t<(At >= 0 && At <= X::rank), legal, stack_has_no_such_place<X, At>>;
  using size    = std::conditional_t<New::size == Count, legal, stack_has_other_size<New, Count>>;
  using verdict = first_objection<there, size, typename base::verdict>;
};

/// A tensor of shape `X` becomes one for each element of `Along`.
template<Layout L, class X, class Along>
struct unstack_plan : detail::stacking<L, X, Along> {
  using whole = std::conditional_t<detail::may_be_whole<L, Along>, legal,
                                   stacked_dim_is_split<Along, axes_of<L, Along>>>;
  using verdict =
      first_objection<detail::dims_are_in<X, Along>, typename detail::stacking<L, X, Along>::verdict, whole>;
};

/// `legal`, or the objection to `stack<New, At>` of this number of tensors of shape `X`.
template<Layout L, class X, class New, int At, int Count>
using stack_verdict = typename stack_plan<L, X, New, At, Count>::verdict;

/// `legal`, or the objection to `unstack<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using unstack_verdict = typename unstack_plan<L, X, Along>::verdict;

}  // namespace v0
}  // namespace meshtf
