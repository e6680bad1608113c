// What linear operations on partial sums have in common: they work on the local terms, send nothing, and hand
// the partial sum through.
#pragma once

#include <tuple>

#include <meshtf/tensor/tape.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class P>
inline constexpr bool is_partial = false;
template<class V, class Over>
inline constexpr bool is_partial<partial<V, Over>> = true;

template<class L, class D, class Over>
struct unreduced_and_split;
template<class L, class D, class... A>
struct unreduced_and_split<L, D, axes<A...>>
    : std::type_identity<first_objection<std::conditional_t<(A::size > 1) && axes_of<L, D>::template has<A>,
                                                            unreduced_axis_splits_dim<A, D>, legal>...>> {};

template<class L, class S, class Over>
struct partial_sum_placement;
template<class L, class... D, class Over>
struct partial_sum_placement<L, shape<D...>, Over>
    : std::type_identity<first_objection<typename unreduced_and_split<L, D, Over>::type...>> {};

/// `legal`, or the objection to a partial sum over `Over` whose local terms are made in a nest of shape `S`:
/// if an unreduced axis split a dimension, its parts would be on processes that hold different local terms.
template<class L, class S, class Over>
using partial_sum_verdict = typename partial_sum_placement<actual<L>, S, Over>::type;

/// A partial sum again: its local terms `z` were made by an operation from those of `p`, which it uses as
/// `How` says.
template<algebra::use How, class V, class Over, class T, class L, class... Z>
constexpr auto handed_through(partial<V, Over> const& p, tensor<T, L, Z...> z) {
  static_assert(algebra::after(How, algebra::pending::sum) == algebra::pending_after{algebra::pending::sum},
                "meshtf: only a linear operation hands a partial sum through");
  return partial<tensor<T, L, Z...>, Over>{std::move(z), p.owed()};
}
template<algebra::use How, class V, class Over>
constexpr rejected handed_through(partial<V, Over> const&, rejected) {
  return {};
}

/// A copy of `x`, as local terms of a sum over the axes `over`, along which it is whole: it counts once, on
/// coordinate 0. Without a gradient.
template<class T, class L, class... D>
constexpr tensor<T, L, D...> copied_once(tensor<T, L, D...> const& x, axis_set over) {
  auto& m = x.machine();
  auto z  = tensor<T, L, D...>::uninitialised(m);
  m.if_joined(
      over, [&] { m.add_up(x.size, m.counts(over), false, x.data(), x.data(), z.data()); },
      [&] { m.copy(x.size, x.data(), z.data()); });
  return z;
}

/// The same with a gradient, and `x` itself if `over` is empty. This is local and sends nothing.
template<class T, class L, class... D>
constexpr tensor<T, L, D...> counted_once(tensor<T, L, D...> const& x, axis_set over) {
  if (over == 0) return x;
  auto z = copied_once(x, over);
  if (wants_gradient(x)) record(z, [x = x.without_value()](auto const& dz) { contribute(x, dz); });
  return z;
}

/// The local terms of `p` as local terms of a sum over the axes `unreduced`, over some of which `p` is
/// unreduced.
template<class V, class Over>
constexpr V local_terms_over(partial<V, Over> const& p, axis_set unreduced) {
  return counted_once(p.local_terms(), unreduced & ~p.owed());
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
