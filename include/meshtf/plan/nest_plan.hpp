// What an elementwise operation or a reduction will do, decided before it runs.
#pragma once

#include <meshtf/core/element.hpp>
#include <meshtf/core/placement.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/work.hpp>

namespace meshtf {
inline namespace v0 {

/// An operation was told to work along `Dim`, which its tensor does not have.
template<class Dim>
struct dim_is_not_in_tensor {};

/// No operand of an elementwise operation has the dimensions of all others, so none is broadcast implicitly.
/// `Fix` is the broadcast to write.
template<class Fix>
struct no_operand_has_all_dims {};

/// `broadcast<D...>(x)` has these dimensions, in the wanted order.
template<class... D>
struct write_broadcast {};

namespace task {

/// z = f(x...) for each iteration of a nest. Arrays: z, x...
template<class F, class R, class... T>
struct map {
  using steps_type = nest_steps;
  F f;

  static constexpr meshtf::work work(nest_steps const& s) {
    return {.kind        = "elementwise",
            .elementwise = s.iterations * detail::flops_of<F>,
            .bytes       = detail::bytes_of_nest<T..., R>(s)};
  }
  void compute(nest_steps const&, place_in_mesh const&, R* z, T const*... x) const;
};

/// z = the sum, maximum or minimum of f(x...) over the loops along which z stands still. Arrays: z, x...
template<reduction Op, class F, class R, class... T>
struct reduce {
  using steps_type   = nest_steps;
  using scratch_type = computed<R>;
  F f;

  /// The result before it is rounded, if its elements are narrow and anything is joined.
  static constexpr extent scratch(nest_steps const& s)
    requires NarrowElement<R>
  {
    return s.reduces ? detail::span_of(s, static_cast<std::size_t>(s.operands - 1)) : 0;
  }

  static constexpr meshtf::work work(nest_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = s.iterations * (detail::flops_of<F> + 1),
            .bytes       = detail::bytes_of_nest<T..., R>(s)};
  }
  void compute(nest_steps const&, place_in_mesh const&, R* z, T const*... x) const
    requires(!NarrowElement<R>);
  void compute(nest_steps const&, place_in_mesh const&, R* z, T const*... x, computed<R>* scratch) const
    requires NarrowElement<R>;
};

}  // namespace task

/// `out[...] (op)= f(in[...]...)` over the union of all dimensions; those that `Out` lacks are reduced.
///
/// The layout must be able to place the whole loop nest, not only each tensor: if an axis split one dimension
/// of one operand and another dimension of another operand, no process would have matching parts. Each
/// process works on the parts it holds. If a reduced dimension is split, each process's result covers only
/// its part, and the results are joined over `finished_over`.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), section 3.3.
template<Layout L, class Out, class... In>
struct nest_plan {
  using loops   = typename detail::all_dims<Out, In...>::type;
  using verdict = placement_verdict_of<L, loops>;

  static constexpr steps_under<L, nest_steps, loops> local =
      plan_steps<L, nest_steps, loops>(arrays_of<In..., Out>{});

  static constexpr axis_set finished_over = split_over<L, loops> & ~split_over<L, Out>;
};

namespace detail {

template<class S, class... Along>
using dims_are_in =
    first_objection<std::conditional_t<S::template has<Along>, legal, dim_is_not_in_tensor<Along>>...>;

}  // namespace detail

/// A reduction of a tensor of shape `X` over `Along...`.
template<Layout L, class X, Dimension... Along>
struct reduce_plan : nest_plan<L, without<X, shape<Along...>>, X> {
  using result  = without<X, shape<Along...>>;
  using verdict = first_objection<detail::dims_are_in<X, Along...>, detail::named_once<Along, Along...>...,
                                  placement_verdict_of<L, X>>;
};

namespace detail {

template<class All>
struct broadcast_objection;
template<class... D>
struct broadcast_objection<shape<D...>> : std::type_identity<no_operand_has_all_dims<write_broadcast<D...>>> {
};

template<class... X>
using broadcast_rule = typename std::conditional_t<broadcast_by_themselves<X...>, std::type_identity<legal>,
                                                   broadcast_objection<broadcast_shape<X...>>>::type;

}  // namespace detail

/// `legal`, or the objection to an elementwise operation on tensors of these shapes, broadcast to one
/// another.
template<Layout L, class... X>
using elementwise_verdict = first_objection<detail::broadcast_rule<X...>,
                                            typename nest_plan<L, broadcast_shape<X...>, X...>::verdict>;

/// `legal`, or the objection to a reduction of a tensor of shape `X` over `Along...`.
template<Layout L, class X, Dimension... Along>
using reduce_verdict = typename reduce_plan<L, X, Along...>::verdict;

}  // namespace v0
}  // namespace meshtf
