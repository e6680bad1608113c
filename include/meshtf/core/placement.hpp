// Placement: may a tensor of these dimensions live on the mesh under this layout?
#pragma once

#include <tuple>

#include <meshtf/core/placed.hpp>
#include <meshtf/core/shape.hpp>
#include <meshtf/core/verdict.hpp>

namespace meshtf {
inline namespace v0 {

/// `First` and `Second` are both split over `Axis`, so no process would hold a rectangular part of the
/// tensor.
template<class Axis, class First, class Second>
struct one_axis_splits_two_dims {};

/// A tensor names each dimension at most once. For a square matrix over one dimension, rename one side.
template<class Dim>
struct dim_appears_twice {};

/// Two dimensions are aliases of `Dim`, so they are the same dimension, and a tensor would have it twice.
/// Declare a struct for each: `struct length : meshtf::dim<64> {};` instead of
/// `using length = meshtf::dim<64>;`.
template<class Dim>
struct aliases_are_one_dim {};

/// `Size` elements of `Dim` can't be cut into `Parts` equal parts, as `split` demands. `padded` cuts them
/// into unequal ones.
template<class Dim, extent Size, extent Parts>
struct parts_do_not_divide_dim {};

/// A verdict with the axes over which the layout splits the dimension that it names. Assertions show this
/// type; programs ask for the verdict alone.
template<class Verdict, class... Axes>
struct over_axes;

/// A tensor or a loop nest has `Dims` dimensions; the most allowed is `Max`.
template<int Dims, int Max>
struct too_many_dims {};

/// What is wrong with a placement: the dimensions by their position in the tensor, the axis by its number.
struct placement_fault {
  enum kind { none, two_dims, ragged } reason = none;
  int first                                   = 0;
  int second                                  = 0;
  int axis                                    = 0;
};

/// The first fault in the order of the dimensions. The rule is: an axis splits at most one dimension, and all
/// parts of a dimension are equal unless its rule is `padded`. Source: Shazeer et al., Mesh-TensorFlow
/// (2018), section 3.1.
constexpr placement_fault examine(std::span<placed const> dims) {
  std::array<int, max_axes> splits{};  // for each axis: 1 + the dimension that it splits
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    placed const& d = dims[static_cast<std::size_t>(i)];
    if (!d.divides() && !d.pads) return {placement_fault::ragged, i};
    for (int axis : d.over) {
      int& taken = splits[static_cast<std::size_t>(axis)];
      if (taken != 0) return {placement_fault::two_dims, taken - 1, i, axis};
      taken = i + 1;
    }
  }
  return {};
}

namespace detail {

template<int I, class... X>
using pick = std::tuple_element_t<std::size_t{I}, std::tuple<X...>>;

template<class L, class S>
struct placement;

template<class L, class... D>
struct placement<L, shape<D...>> {
  static constexpr std::array<placed, sizeof...(D)> dims{placing<L, D>...};
  static constexpr placement_fault fault = examine(dims);

  template<class... Axis>
  static auto axis(axes<Axis...>) -> pick<fault.axis, Axis...>;

  static constexpr auto verdict() {
    if constexpr (fault.reason == placement_fault::two_dims)
      return one_axis_splits_two_dims<decltype(axis(typename L::mesh_type::all_axes{})),
                                      pick<fault.first, D...>, pick<fault.second, D...>>{};
    else if constexpr (fault.reason == placement_fault::ragged)
      return parts_do_not_divide_dim<pick<fault.first, D...>, dims[fault.first].size,
                                     dims[fault.first].parts>{};
    else return legal{};
  }
};

template<class D>
using named_twice =
    std::conditional_t<std::same_as<D, dim<D::size>>, aliases_are_one_dim<D>, dim_appears_twice<D>>;
template<class D, class... All>
using named_once = std::conditional_t<times_among<D, All...> == 1, legal, named_twice<D>>;

// A layout whose own rules are unsound places nothing, so its placements are not examined.
template<class L, class S, class Rules = typename L::rules_verdict>
struct objection : std::type_identity<Rules> {};

template<class L, class... D>
struct objection<L, shape<D...>, legal>
    : std::type_identity<
          first_objection<named_once<D, D...>..., decltype(placement<L, shape<D...>>::verdict())>> {};

template<class L, class... D>
  requires(sizeof...(D) > max_rank)
struct objection<L, shape<D...>, legal> : std::type_identity<too_many_dims<int{sizeof...(D)}, max_rank>> {};

}  // namespace detail

namespace detail {

template<class L, class Verdict>
struct shown : std::type_identity<Verdict> {};

template<class Verdict, class Over>
struct shown_over;
template<class Verdict, class... A>
struct shown_over<Verdict, axes<A...>> : std::type_identity<over_axes<Verdict, A...>> {};

template<class L, class D, extent Size, extent Parts>
struct shown<L, parts_do_not_divide_dim<D, Size, Parts>>
    : shown_over<parts_do_not_divide_dim<D, Size, Parts>, axes_of<L, D>> {};

}  // namespace detail

/// `legal`, or the first objection to a tensor of shape `S` under layout `L`, in the user's own names.
template<Layout L, class S>
using placement_verdict_of = typename detail::objection<actual<L>, S>::type;

/// `legal`, or the first objection to a tensor of these dimensions under layout `L`.
template<Layout L, Dimension... D>
using placement_verdict = placement_verdict_of<L, shape<D...>>;

namespace detail {

/// The placement verdict as assertions show it.
template<class L, class... D>
using shown_placement = typename shown<actual<L>, placement_verdict<L, D...>>::type;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
