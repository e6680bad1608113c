// What linear operations on open sums have in common: they work on the addends, send nothing, and hand the
// open sum through.
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
struct owed_and_split;
template<class L, class D, class... A>
struct owed_and_split<L, D, axes<A...>>
    : std::type_identity<first_objection<std::conditional_t<(A::size > 1) && axes_of<L, D>::template has<A>,
                                                            owed_axis_splits_dim<A, D>, legal>...>> {};

template<class L, class S, class Over>
struct open_placement;
template<class L, class... D, class Over>
struct open_placement<L, shape<D...>, Over>
    : std::type_identity<first_objection<typename owed_and_split<L, D, Over>::type...>> {};

/// `legal`, or the objection to an open sum over `Over` whose addends are made in a nest of shape `S`: if an
/// owed axis split a dimension, its parts would be on processes that hold different addends.
template<class L, class S, class Over>
using open_verdict = typename open_placement<actual<L>, S, Over>::type;

/// An open sum again: its addends `z` were made by an operation from those of `p`, which it uses as `How`
/// says.
template<algebra::use How, class V, class Over, class T, class L, class... Z>
constexpr auto handed_through(partial<V, Over> const& p, tensor<T, L, Z...> z) {
  static_assert(algebra::after(How, algebra::pending::sum) == algebra::pending_after{algebra::pending::sum},
                "meshtf: only a linear operation hands an open sum through");
  return partial<tensor<T, L, Z...>, Over>{std::move(z), p.owed()};
}
template<algebra::use How, class V, class Over>
constexpr rejected handed_through(partial<V, Over> const&, rejected) {
  return {};
}

/// A copy of `x`, as addends of a sum over the axes `over`, along which it is whole: it counts once, on
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

/// The addends of `p` as addends of a sum over the axes `owed`, some of which `p` owes.
template<class V, class Over>
constexpr V addends_over(partial<V, Over> const& p, axis_set owed) {
  return counted_once(p.addend(), owed & ~p.owed());
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
