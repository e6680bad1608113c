// broadcast: the same elements for every index of further dimensions.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/open_sums.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// A broadcast names all dimensions of its result, and `Dim` of its tensor is not among them.
template<class Dim>
struct broadcast_lacks_dim {};

namespace detail {

template<class L, class X, class Out>
struct broadcast_check;
template<class L, class... X, class Out>
struct broadcast_check<L, shape<X...>, Out>
    : std::type_identity<first_objection<std::conditional_t<Out::template has<X>, legal, broadcast_lacks_dim<X>>..., placement_verdict_of<L, Out>>> {
};

}  // namespace detail

/// `legal`, or the objection to a broadcast of a tensor of shape `X` to the dimensions `D...`.
template<Layout L, class X, Dimension... D>
using broadcast_verdict = typename detail::broadcast_check<L, X, shape<D...>>::type;

/// `x` with the dimensions `D...`: all of its own, in any order, and new ones, along which it is the same everywhere.
///
/// Local; a dimension is split as the layout says. Gradient: dz, summed over the new dimensions, which owes the axes that split them; a parameter's stays open.
template<Dimension... D, class T, class L, class... X>
constexpr auto broadcast(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  using verdict = broadcast_verdict<wet<L>, shape<X...>, D...>;
  static_assert(accepted<verdict>, "meshtf: broadcast can't give the tensor these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("broadcast", at);
    auto z = detail::each<T, shape<D...>>(function::identity{}, x);
    if (detail::wants_gradient(x)) {
      bool const open = x.gradient_stays_open();
      detail::record<detail::incoming::open_if_open>(
          z,
          [x = x.without_value()](auto const& dz, axis_set owed) {
            auto const g = detail::reduced<reduction::sum, shape<X...>>(function::identity{}, dz);
            detail::contribute(x, g.value, g.owed | owed, g.why);
          },
          open);
    }
    return z;
  }
}

/// An open sum stays open, if none of the axes that it owes splits a new dimension.
template<Dimension... D, class T, class L, class... X, class Over>
constexpr auto broadcast(partial<tensor<T, L, X...>, Over> const& p, std::source_location at = std::source_location::current()) {
  using verdict = first_objection<broadcast_verdict<wet<L>, shape<X...>, D...>, detail::open_verdict<L, shape<D...>, Over>>;
  static_assert(accepted<verdict>, "meshtf: broadcast can't give the open sum these dimensions: broadcast<...>(finish(p))");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else return detail::handed_through<algebra::use::moved>(p, broadcast<D...>(p.addend(), at));
}

}  // namespace meshtf::inline v0
