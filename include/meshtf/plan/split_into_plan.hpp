// Whether a dimension can be cut into several.
#pragma once

#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// The pieces that `Dim` is cut into have `Sum` elements together.
template<class Dim, extent Sum>
struct pieces_do_not_add_up_to_dim {};

/// `Dim`, which is cut into pieces or is one, has as many elements as are counted at run time, so the places
/// of the pieces are not known.
template<class Dim>
struct cut_dim_is_counted {};

namespace detail {

template<class D>
using can_be_cut = std::conditional_t<CountedDimension<D>, cut_dim_is_counted<D>, legal>;

template<Layout L, class X, class From, class... To>
struct cutting {
  static constexpr extent sum = (To::size + ...);
  using adds_up = std::conditional_t<sum == From::size, legal, pieces_do_not_add_up_to_dim<From, sum>>;
  using verdict = first_objection<dims_are_in<X, From>, can_be_cut<From>, can_be_cut<To>..., adds_up,
                                  sliced_whole<L, From>, slice_verdict<L, X, From, To>...>;
};

}  // namespace detail

/// `legal`, or the objection to `split_into<From, To...>` of a tensor of shape `X`.
template<Layout L, class X, class From, class... To>
using split_into_verdict = typename detail::cutting<L, X, From, To...>::verdict;

}  // namespace v0
}  // namespace meshtf
