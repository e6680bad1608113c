// split_dim and merge_dims: one dimension as several, and several as one.
#pragma once

#include <source_location>

#include <meshtf/ops/shape/reshard.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/reshard/reshape_plan.hpp>
#include <meshtf/tensor/partial_sums.hpp>

namespace meshtf {
inline namespace v0 {

/// In the tensor these dimensions are not neighbours in this order: transpose first.
template<class Parts, class S>
struct dims_are_not_neighbours {};

/// `Dim` has as many elements as are counted at run time, so it is no product of other dimensions: `rename`
/// it, or declare it with a fixed size.
template<class Dim>
struct counted_dim_is_reshaped {};

/// The copies of some move need more loops than a nest has: go through an intermediate layout.
template<class Whole, class Parts>
struct reshape_needs_too_many_loops {};

namespace detail {

template<class P>
struct as_parts_of {
  static constexpr auto from = P::as_whole;
  static constexpr auto to   = P::as_parts;
};
template<class P>
struct as_whole_of {
  static constexpr auto from = P::as_parts;
  static constexpr auto to   = P::as_whole;
};

/// `Riding`: the axes over which the tensor is a local term.
template<class L, class Way, class Whole, class Parts, axis_set Riding = 0>
struct reshape_steps {
  static constexpr reshard_steps value = plan_reshard(Way::from, Way::to, 0, axis_sizes_in_stage<L>, Riding);
  using verdict                        = std::conditional_t<value.fault.reason == reshard_fault::none, legal,
                                                            reshape_needs_too_many_loops<Whole, Parts>>;
};

template<class S, class Seen = shape<>>
struct but_last;
template<class Last, class... Seen>
struct but_last<shape<Last>, shape<Seen...>> {
  using rest = shape<Seen...>;
  using last = Last;
};
template<class First, class Second, class... Rest, class... Seen>
struct but_last<shape<First, Second, Rest...>, shape<Seen...>>
    : but_last<shape<Second, Rest...>, shape<Seen..., First>> {};

template<class S, class Parts>
struct all_in;
template<class S, class... P>
struct all_in<S, shape<P...>> : std::type_identity<dims_are_in<S, P...>> {};
template<class S, class Parts>
using all_are_in = typename all_in<S, Parts>::type;

/// The shape with `Parts` merged into `Whole`; the same shape if they are not neighbours.
template<class S, class Parts, class Whole>
struct merged_shape;
template<class... D, class First, class... Rest, class Whole>
struct merged_shape<shape<D...>, shape<First, Rest...>, Whole> {
  using type                     = replaced<without<shape<D...>, shape<Rest...>>, First, shape<Whole>>;
  static constexpr bool together = std::is_same_v<replaced<type, Whole, shape<First, Rest...>>, shape<D...>>;
};

}  // namespace detail

namespace detail {

template<class D>
using counted_objection = std::conditional_t<CountedDimension<D>, counted_dim_is_reshaped<D>, legal>;

template<class Whole, class Parts>
struct counted_among;
template<class Whole, class... P>
struct counted_among<Whole, shape<P...>>
    : std::type_identity<first_objection<counted_objection<Whole>, counted_objection<P>...>> {};
template<class Whole, class Parts>
using not_counted = typename counted_among<Whole, Parts>::type;

/// How `From` of a tensor becomes `To`, and whether that is allowed. `Riding`: the axes over which the tensor
/// may be a partial sum.
template<axis_set Riding, class From, class To, class L, class S>
struct splitting {
  using out     = replaced<S, From, To>;
  using plan    = reshape_plan<L, out, From, To>;
  using way     = as_parts_of<plan>;
  using steps   = reshape_steps<L, way, From, To, Riding>;
  using verdict = first_objection<dims_are_in<S, From>, not_counted<From, To>, typename plan::verdict,
                                  typename steps::verdict>;
};

template<axis_set Riding, class Names, class L, class S>
struct merging {
  using names  = but_last<Names>;
  using parts  = typename names::rest;
  using into   = typename names::last;
  using merged = merged_shape<S, parts, into>;
  using out    = typename merged::type;
  using plan   = reshape_plan<L, S, into, parts>;
  using way    = as_whole_of<plan>;
  using steps  = reshape_steps<L, way, into, parts, Riding>;
  using stand  = std::conditional_t<merged::together, legal, dims_are_not_neighbours<parts, S>>;
  using verdict =
      first_objection<all_are_in<S, parts>, stand, not_counted<into, parts>, typename plan::verdict,
                      placement_verdict_of<L, out>, typename steps::verdict>;
};

/// Where there is an objection, the caller has reported it.
template<class Reshaping, class T, class L, class... D>
constexpr auto reshaped(char const* name, tensor<T, L, D...> const& x, std::source_location at) {
  if constexpr (!accepted<typename Reshaping::verdict>) {
    return rejected{};
  } else {
    x.machine().begin_operation(name, at);
    return relocation_under<actual<L>>::template reshape<tensor_of<T, L, typename Reshaping::out>, Reshaping>(
        x);
  }
}

}  // namespace detail

/// `x` with the dimensions `To...` in the place of `From`, whose size is their product; the first is
/// outermost.
///
/// The elements stay in their order. Where the layout splits `To...` as it splits `From`, nothing is copied
/// and the result shares the shard. Where `From` is whole and one of `To...` is split, it is a slice.
/// Otherwise the elements move as by `reshard`. Gradient: the reverse.
template<Dimension From, Dimension... To, class T, class L, class... D>
constexpr auto split_dim(tensor<T, L, D...> const& x,
                         std::source_location at = std::source_location::current()) {
  using reshaping = detail::splitting<0, From, shape<To...>, actual<L>, shape<D...>>;
  static_assert(accepted<typename reshaping::verdict>, "meshtf: split_dim can't split this dimension so");
  return detail::reshaped<reshaping>("split_dim", x, at);
}

/// `x` with the dimension `Into` in the place of its neighbours `Parts...`, whose sizes multiply to its own.
/// `Into` is named last: `merge_dims<heads, key, model>(x)`.
///
/// It moves what `split_dim` moves, the other way.
template<Dimension First, Dimension Second, Dimension... More, class T, class L, class... D>
constexpr auto merge_dims(tensor<T, L, D...> const& x,
                          std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(More) > 0,
                "meshtf: merge_dims names the dimensions to merge and then the one they become");
  using reshaping = detail::merging<0, shape<First, Second, More...>, actual<L>, shape<D...>>;
  static_assert(accepted<typename reshaping::verdict>, "meshtf: merge_dims can't merge these");
  return detail::reshaped<reshaping>("merge_dims", x, at);
}

/// A partial sum stays partial: its local terms are reshaped. `To...` must not be split over an axis over
/// which the sum may be unreduced; in that case reshard first.
template<Dimension From, Dimension... To, class T, class L, class... D, class Over>
constexpr auto split_dim(partial<tensor<T, L, D...>, Over> const& p,
                         std::source_location at = std::source_location::current()) {
  using reshaping =
      detail::splitting<detail::possibly_unreduced<L, Over>, From, shape<To...>, actual<L>, shape<D...>>;
  using verdict =
      first_objection<detail::partial_sum_verdict<L, shape<To...>, Over>, typename reshaping::verdict>;
  static_assert(accepted<verdict>,
                "meshtf: split_dim can't split this partial sum so: reshard or finish it first");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::handed_through<algebra::use::layout_only>(
        p, detail::reshaped<reshaping>("split_dim", p.local_terms(), at));
}
template<Dimension First, Dimension Second, Dimension... More, class T, class L, class... D, class Over>
constexpr auto merge_dims(partial<tensor<T, L, D...>, Over> const& p,
                          std::source_location at = std::source_location::current()) {
  using reshaping = detail::merging<detail::possibly_unreduced<L, Over>, shape<First, Second, More...>,
                                    actual<L>, shape<D...>>;
  using verdict   = first_objection<detail::partial_sum_verdict<L, shape<typename reshaping::into>, Over>,
                                    typename reshaping::verdict>;
  static_assert(accepted<verdict>,
                "meshtf: merge_dims can't merge these of a partial sum: reshard or finish it first");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else
    return detail::handed_through<algebra::use::layout_only>(
        p, detail::reshaped<reshaping>("merge_dims", p.local_terms(), at));
}

MESHTF_ACCEPT_REJECTED(split_dim)
MESHTF_ACCEPT_REJECTED(merge_dims)

}  // namespace v0
}  // namespace meshtf
