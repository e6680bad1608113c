// broadcast: the same elements for every index of further dimensions.
#pragma once

#include <meshtf/core/function.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// A broadcast must name all dimensions of its result; it does not name `Dim` of its operand.
template<class Dim>
struct broadcast_lacks_dim {};

namespace detail {

template<class L, class X, class Out>
struct broadcast_check;
template<class L, class... X, class Out>
struct broadcast_check<L, shape<X...>, Out>
    : std::type_identity<
          first_objection<std::conditional_t<Out::template has<X>, legal, broadcast_lacks_dim<X>>...,
                          placement_verdict_of<L, Out>>> {};

}  // namespace detail

/// `legal`, or the objection to a broadcast of a tensor of shape `X` to the dimensions `D...`.
template<Layout L, class X, Dimension... D>
using broadcast_verdict = typename detail::broadcast_check<L, X, shape<D...>>::type;

/// `x` with the dimensions `D...`: all dimensions of `x`, in any order, and new ones, along which the
/// elements repeat.
///
/// Local; a dimension is split as the layout says. A partial sum stays partial if none of its unreduced axes
/// splits a new dimension. Gradient: dz, summed over the new dimensions; it is unreduced over the axes that
/// split them, and that of a parameter stays unreduced.
template<Dimension... D, detail::Operand X>
constexpr auto broadcast(X const& operand, std::source_location at = std::source_location::current()) {
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using verdict = first_objection<broadcast_verdict<actual<L>, in, D...>,
                                  detail::partial_sum_verdict<L, shape<D...>, detail::unreduced_axes_in<X>>>;
  static_assert(accepted<verdict>, "meshtf: broadcast can't give the tensor these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      x.machine().begin_operation("broadcast", at);
      auto z = detail::each<detail::element_in<X>, shape<D...>>(function::identity{}, x);
      detail::record_linear(z, x, [](auto const& to, auto const& dz, axis_set unreduced) {
        auto const g = detail::reduced<reduction::sum, in>(function::identity{}, dz);
        detail::contribute(to, g.value, g.unreduced | unreduced, g.why);
      });
      return z;
    });
  }
}

MESHTF_ACCEPT_REJECTED(broadcast)

}  // namespace v0
}  // namespace meshtf
