// What a concatenation along a dimension will do, decided before it runs.
#pragma once

#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Each part of a concatenation must have exactly one dimension that not all parts have, the one that it
/// brings in. `Part` has `Own`. A rename distinguishes parts of the same dimensions.
template<class Part, class Own>
struct part_brings_other_than_one_dim {};

/// All parts have the same dimensions, and their `Dim`s together make the new one. A dimension that all parts
/// have is kept, so rename it in the others: `concat<length>(x, rename<half, other_half>(y))`.
template<class Dim>
struct parts_share_dim {};

/// With its own dimension replaced by the new one, a part has the shape `Given`, but the first part has
/// `Expected`.
template<class Expected, class Given>
struct parts_have_other_dims {};

/// The parts of `Dim` have `Sum` elements together.
template<class Dim, extent Sum>
struct parts_do_not_add_up_to_dim {};

/// A part is joined along its dimension `Dim`, which is split over `Axes`. First reshard the part to a layout
/// in which it is whole.
template<class Dim, class Axes>
struct concatenated_dim_is_split {};

/// `Dim`, which is joined or made by a concatenation, has as many elements as are counted at run time, so the
/// places of the parts are not known.
template<class Dim>
struct concatenated_dim_is_counted {};

namespace detail {

template<class D>
using has_fixed_size = std::conditional_t<CountedDimension<D>, concatenated_dim_is_counted<D>, legal>;

template<class All, class... X>
struct dims_of_all : std::type_identity<All> {};

template<class All, class First, class... Rest>
struct dims_of_all<All, First, Rest...> : dims_of_all<common_dims<All, First>, Rest...> {};

template<class L, class D>
using is_whole = std::conditional_t<may_be_whole<L, D>, legal, concatenated_dim_is_split<D, axes_of<L, D>>>;

/// A dimension that all parts have and of which `Parts` make up `Along`: it was meant to be replaced.
template<class Along, extent Parts, class Common>
struct sharing;
template<class Along, extent Parts, class... D>
struct sharing<Along, Parts, shape<D...>>
    : std::type_identity<
          first_objection<std::conditional_t<Parts * D::size == Along::size, parts_share_dim<D>, legal>...>> {
};

template<class Common, class... X>
inline constexpr bool same_shapes = (std::is_same_v<X, Common> && ...);

/// For parts of which some do not bring in exactly one dimension.
template<class L, class Along, class Common, class... X>
struct concatenation {
  using verdict =
      first_objection<typename sharing<Along, extent{sizeof...(X)},
                                       std::conditional_t<same_shapes<Common, X...>, Common, shape<>>>::type,
                      std::conditional_t<without<X, Common>::rank == 1, legal,
                                         part_brings_other_than_one_dim<X, without<X, Common>>>...>;
};

template<class L, class Along, class Common, class First, class... Rest>
  requires((without<First, Common>::rank == 1) && ... && (without<Rest, Common>::rank == 1))
struct concatenation<L, Along, Common, First, Rest...> {
  template<class Part>
  using own = typename front<without<Part, Common>>::type;
  template<class Part>
  using joined = replaced<Part, own<Part>, shape<Along>>;

  using result                = joined<First>;
  static constexpr extent sum = (own<First>::size + ... + own<Rest>::size);
  using same_dims = first_objection<std::conditional_t<std::is_same_v<joined<Rest>, result>, legal,
                                                       parts_have_other_dims<result, joined<Rest>>>...>;
  using adds_up   = std::conditional_t<sum == Along::size, legal, parts_do_not_add_up_to_dim<Along, sum>>;
  using verdict   = first_objection<same_dims, adds_up, has_fixed_size<Along>, has_fixed_size<own<First>>,
                                    has_fixed_size<own<Rest>>..., placement_verdict_of<L, First>,
                                    placement_verdict_of<L, Rest>..., is_whole<L, own<First>>,
                                    is_whole<L, own<Rest>>..., placement_verdict_of<L, result>>;
};

}  // namespace detail

/// Joins parts of the shapes `X...` along `Along`, which replaces the dimension that each of them brings in.
/// These dimensions are whole, so every process joins the parts that it holds. If `Along` is split, they are
/// joined to a whole dimension, and each process then keeps its own part.
template<Layout L, class Along, class... X>
struct concat_plan : detail::concatenation<L, Along, typename detail::dims_of_all<X...>::type, X...> {
  using base = detail::concatenation<L, Along, typename detail::dims_of_all<X...>::type, X...>;

  template<class Part>
  static constexpr extent size_of = base::template own<Part>::size;

  /// The place of a part in the result.
  template<class Part>
  static constexpr auto place =
      plan_steps<L, part_steps, united<typename base::result, Part>, Along,
                 typename base::template own<Part>>(arrays_of<typename base::result, Part>{});
};

/// `legal`, or the objection to `concat<Along>` of tensors of the shapes `X...`.
template<Layout L, class Along, class... X>
using concat_verdict = typename concat_plan<L, Along, X...>::verdict;

}  // namespace v0
}  // namespace meshtf
