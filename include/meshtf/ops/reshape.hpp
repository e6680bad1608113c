// split_dim and merge_dims: one dimension as several, several as one.
#pragma once

#include <source_location>

#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/reshape_plan.hpp>
#include <meshtf/tensor/relocate.hpp>

namespace meshtf::inline v0 {

/// The dimensions do not stand next to one another in this order in the tensor: transpose first.
template<class Parts, class S>
struct dims_are_not_neighbours {};

/// Elements would have to move in a way that reshard has no steps for: reshard first.
template<class Whole, class Parts>
struct reshape_would_permute {};

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

template<class L, class Way, class Whole, class Parts>
struct reshape_steps {
  static constexpr reshard_steps value = plan_reshard(Way::from, Way::to, 0, axis_sizes<typename L::mesh_type>);
  using verdict                        = std::conditional_t<value.fault.what == reshard_fault::none, legal, reshape_would_permute<Whole, Parts>>;
};

template<class S, class Seen = shape<>>
struct but_last;
template<class Last, class... Seen>
struct but_last<shape<Last>, shape<Seen...>> {
  using rest = shape<Seen...>;
  using last = Last;
};
template<class First, class Second, class... Rest, class... Seen>
struct but_last<shape<First, Second, Rest...>, shape<Seen...>> : but_last<shape<Second, Rest...>, shape<Seen..., First>> {};

template<class S, class Parts>
struct all_in;
template<class S, class... P>
struct all_in<S, shape<P...>> : std::type_identity<dims_are_in<S, P...>> {};
template<class S, class Parts>
using all_are_in = typename all_in<S, Parts>::type;

/// The shape with `Parts` merged to `Whole`; the same shape if they do not stand together.
template<class S, class Parts, class Whole>
struct merged_shape;
template<class... D, class First, class... Rest, class Whole>
struct merged_shape<shape<D...>, shape<First, Rest...>, Whole> {
  using type                     = replaced<without<shape<D...>, shape<Rest...>>, First, shape<Whole>>;
  static constexpr bool together = std::is_same_v<replaced<type, Whole, shape<First, Rest...>>, shape<D...>>;
};

}  // namespace detail

/// `x` with the dimensions `To...` in the place of `From`, whose size is their product; the first is outermost.
///
/// The elements stay in their order. Where the layout splits `To...` as `From` is split, nothing is copied and the result shares the shard; where `From` is
/// whole and one of `To...` is split it is a slice; otherwise they move as by `reshard`. Gradient: the way back.
template<Dimension From, Dimension... To, class T, class L, class... D>
constexpr auto split_dim(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  using parts   = shape<To...>;
  using out     = replaced<shape<D...>, From, parts>;
  using plan    = reshape_plan<wet<L>, out, From, parts>;
  using way     = detail::as_parts_of<plan>;
  using steps   = detail::reshape_steps<wet<L>, way, From, parts>;
  using verdict = first_objection<detail::dims_are_in<shape<D...>, From>, typename plan::verdict, typename steps::verdict>;
  static_assert(accepted<verdict>, "meshtf: split_dim can't split this dimension so");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("split_dim", at);
    return detail::relocate<tensor_of<T, L, out>, way>(x, 0, steps::value);
  }
}

/// `x` with the dimension `Into` in the place of its neighbours `Parts...`, whose sizes multiply to it: `merge_dims<heads, key, model>(x)`; the last is `Into`.
///
/// As `split_dim`, the other way.
template<Dimension First, Dimension Second, Dimension... More, class T, class L, class... D>
constexpr auto merge_dims(tensor<T, L, D...> const& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(More) > 0, "meshtf: merge_dims names the dimensions to merge and then the one they become");
  using names   = detail::but_last<shape<First, Second, More...>>;
  using parts   = typename names::rest;
  using into    = typename names::last;
  using merged  = detail::merged_shape<shape<D...>, parts, into>;
  using out     = typename merged::type;
  using plan    = reshape_plan<wet<L>, shape<D...>, into, parts>;
  using way     = detail::as_whole_of<plan>;
  using steps   = detail::reshape_steps<wet<L>, way, into, parts>;
  using stand   = std::conditional_t<merged::together, legal, dims_are_not_neighbours<parts, shape<D...>>>;
  using verdict = first_objection<detail::all_are_in<shape<D...>, parts>, stand, typename plan::verdict, placement_verdict_of<wet<L>, out>,
                                  typename steps::verdict>;
  static_assert(accepted<verdict>, "meshtf: merge_dims can't merge these");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("merge_dims", at);
    return detail::relocate<tensor_of<T, L, out>, way>(x, 0, steps::value);
  }
}

}  // namespace meshtf::inline v0
