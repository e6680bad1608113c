// tile: the elements along a dimension several times, one after the other.
#pragma once

#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/ops/shape/reshape.hpp>
#include <meshtf/ops/shape/slice.hpp>

namespace meshtf {
inline namespace v0 {

/// `Tiled` is to be made of whole copies of `Dim`, but its size is no multiple of that of `Dim`.
template<class Tiled, class Dim>
struct tiled_dim_is_no_multiple {};

/// `Dim`, which is to be repeated, is split over `Axes`, so no process has a whole copy. First reshard to a
/// layout in which it is whole.
template<class Dim, class Axes>
struct tiled_dim_is_split {};

namespace detail {

/// The copies of `Dim` that `Tiled` is made of; no layout has a rule for this dimension.
template<class Tiled, class Dim>
struct copies_in : dim<Tiled::size / Dim::size> {};

template<class L, class X, class From, class To>
struct tiling {
  using whole = std::conditional_t<may_be_whole<L, From>, legal, tiled_dim_is_split<From, axes_of<L, From>>>;
  using multiple = std::conditional_t<To::size % From::size == 0, legal, tiled_dim_is_no_multiple<To, From>>;
  using verdict  = first_objection<dims_are_in<X, From>, counted_objection<From>, counted_objection<To>,
                                   multiple, placement_verdict_of<L, X>, whole,
                                   placement_verdict_of<L, replaced<X, From, shape<To>>>>;
};

template<class From, class To, class X, class... D>
constexpr auto tiled(X const& x, shape<D...>, std::source_location at) {
  using copies     = copies_in<To, From>;
  auto const apart = broadcast<D...>(x, at);
  if constexpr (stays_whole<actual<layout_in<X>>, To>) return merge_dims<copies, From, To>(apart, at);
  else return own_part<To>(merge_dims<copies, From, whole_part<To>>(apart, at));
}

}  // namespace detail

/// `legal`, or the objection to `tile<From, To>` of a tensor of shape `X`.
template<Layout L, class X, class From, class To>
using tile_verdict = typename detail::tiling<L, X, From, To>::verdict;

/// `x` with `To` in the place of `From`: all its elements along `From`, and again, until there are as many as
/// `To` has.
///
///     auto rows = tile<pattern, length>(x);   // [pattern, model] -> [length, model]
///
/// `From` is whole under the layout; where `To` is split, each process keeps its part. Local: a `broadcast`,
/// whose dimensions are then merged. A partial sum stays partial; `To` must not be split over an axis over
/// which it may be unreduced.
/// Gradient: dz, summed over the copies; that of a parameter stays unreduced.
template<Dimension From, Dimension To, detail::Operand X>
constexpr auto tile(X const& operand, std::source_location at = std::source_location::current()) {
  using L            = detail::layout_in<X>;
  using S            = detail::shape_in<X>;
  using partial_fits = detail::partial_sum_verdict<L, shape<To>, detail::unreduced_axes_in<X>>;
  using verdict      = tile_verdict<actual<L>, S, From, To>;
  static_assert(accepted<partial_fits>,
                "meshtf: tile can't split a partial sum over an unreduced axis: reshard or finish first");
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: tile can't repeat this dimension so");
  if constexpr (!accepted<first_objection<partial_fits, verdict>>) {
    return detail::rejected{};
  } else {
    detail::constrain_partial_sum<To>(operand);
    return detail::linearly<algebra::use::layout_only>(operand, [&](auto const& x) {
      return detail::tiled<From, To>(x, replaced<S, From, shape<detail::copies_in<To, From>, From>>{}, at);
    });
  }
}

MESHTF_ACCEPT_REJECTED(tile)

}  // namespace v0
}  // namespace meshtf
