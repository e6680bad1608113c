// Layouts: which dimension is split over which axes of which mesh.
#pragma once

#include <concepts>
#include <type_traits>

#include <boost/hana/at_key.hpp>
#include <boost/hana/contains.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/type.hpp>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/verdict.hpp>

namespace meshtf {
inline namespace v0 {

namespace hana = boost::hana;

/// One rule of a layout: `Dim` is cut into equal parts over `Axes...`, the first of them outermost.
template<Dimension Dim, MeshAxis... Axes>
struct split {
  using dimension            = Dim;
  using over                 = axes<Axes...>;
  static constexpr bool pads = false;
};

/// One rule of a layout: `Dim`, of any size, is cut over `Axes...` into blocks of ceil(size / parts)
/// elements, the first axis outermost. The last blocks hold fewer elements, or none. All processes have the
/// same storage; what lies past the local elements is padding, which may hold anything and which nothing
/// reads. If the parts divide the size, the rule is the same as `split`.
/// Source: Xu et al., GSPMD (2021), section 4.1.
template<Dimension Dim, MeshAxis... Axes>
struct padded {
  using dimension            = Dim;
  using over                 = axes<Axes...>;
  static constexpr bool pads = true;
};

/// A rule of a layout: `split`, `padded`, and others of the same form.
template<class R>
concept LayoutRule = requires {
  typename R::dimension;
  typename R::over;
  { R::pads } -> std::convertible_to<bool>;
};

/// `Dim` has more than one rule, so its split is ambiguous.
template<class Dim>
struct two_rules_for_dim {};

/// A rule splits `Dim` over `Axis`, but `Mesh` has no such axis.
template<class Axis, class Dim, class Mesh>
struct axis_is_not_in_mesh {};

/// A rule names `Axis` more than once for `Dim`.
template<class Axis, class Dim>
struct axis_splits_dim_twice {};

namespace detail {

template<class M, class Rule, class Over>
struct rule_objection;

template<class M, class Rule, class... A>
struct rule_objection<M, Rule, axes<A...>>
    : std::type_identity<
          first_objection<std::conditional_t<M::all_axes::template has<A>, legal,
                                             axis_is_not_in_mesh<A, typename Rule::dimension, M>>...,
                          std::conditional_t<times_among<A, A...> == 1, legal,
                                             axis_splits_dim_twice<A, typename Rule::dimension>>...>> {};

template<class Dim, class... All>
using one_rule = std::conditional_t<times_among<Dim, All...> == 1, legal, two_rules_for_dim<Dim>>;

template<class M, class... Rules>
struct rules_objection
    : std::type_identity<first_objection<one_rule<typename Rules::dimension, typename Rules::dimension...>...,
                                         typename rule_objection<M, Rules, typename Rules::over>::type...>> {
};

// A Hana map may not hold a key twice. A layout with such rules has a verdict of its own and places nothing,
// so its map may be empty.
template<bool Sound, class... Rules>
consteval auto map_of_rules() {
  if constexpr (Sound)
    return hana::make_map(
        hana::make_pair(hana::type_c<typename Rules::dimension>, hana::type_c<typename Rules::over>)...);
  else return hana::make_map();
}

}  // namespace detail

/// A mesh and the rules for it; dimensions without a rule are whole on every process.
///
///     struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
///
/// `rules` is a Hana map from a dimension to the axes that split it, outermost first: whatever Hana can do
/// with a map, it can do with a layout.
template<Mesh M, LayoutRule... Rules>
struct layout {
  using mesh_type             = M;
  using rules_verdict         = typename detail::rules_objection<M, Rules...>::type;
  static constexpr auto rules = detail::map_of_rules<accepted<rules_verdict>, Rules...>();

  /// Whether the parts of `D` need not divide its size.
  template<class D>
  static constexpr bool pads = [] {
    if constexpr ((Rules::pads || ...))
      return ((Rules::pads && std::is_same_v<D, typename Rules::dimension>) || ...);
    else return false;
  }();
};

namespace detail {

template<class M, class... Rules>
layout<M, Rules...> base_layout(layout<M, Rules...> const*);

/// The `layout` that `L` derives from. Rules are looked up there, since in `struct rules : layout<grid> {}`
/// the name `rules` is that of the class.
template<class L>
using base_layout_of = decltype(detail::base_layout(static_cast<L const*>(nullptr)));

}  // namespace detail

/// A class that derives from `layout<M, Rules...>`.
template<class L>
concept Layout = requires {
  typename L::mesh_type;
  typename L::rules_verdict;
  typename detail::base_layout_of<L>;
};

/// The layout `L` without storage: the rules are the same, but a tensor under it is only a shape, and its
/// machine is the compiler's ledger.
template<Layout L>
struct dry : detail::base_layout_of<L> {};

/// Whether `L` is the dry form of a layout.
template<class L>
inline constexpr bool is_dry = false;
template<class L>
inline constexpr bool is_dry<dry<L>> = true;

namespace detail {

template<class L>
struct rules_of : std::type_identity<L> {};
template<class L>
struct rules_of<dry<L>> : std::type_identity<L> {};

template<class L, class D>
consteval auto find_axes() {
  constexpr auto key = hana::type_c<D>;
  using found        = base_layout_of<L>;
  if constexpr (decltype(hana::contains(found::rules, key))::value) return found::rules[key];
  else return hana::type_c<axes<>>;
}

template<class L, class D>
struct axes_lookup : std::type_identity<typename decltype(find_axes<L, D>())::type> {};

}  // namespace detail

/// `L` without `dry`. Plans and kernels are keyed by the rules alone, so a layout and its dry form share
/// their instantiations.
template<class L>
using actual = typename detail::rules_of<L>::type;

/// The former name of `actual`.
template<class L>
using wet [[deprecated("use actual")]] = actual<L>;

/// The layout `Other` for tensors that a program under `L` makes: `Other` itself, or `dry<Other>` if `L` is
/// dry, as it is in a dry run. Both have one mesh. (`reshard<Other>(x)` does so by itself.)
///
///     tensor<float, layout_beside<L, by_length>, batch, length> mask{m};   // in a program whose other
///     tensors are under `L`
template<Layout L, Layout Other>
using layout_beside = std::conditional_t<is_dry<L>, dry<actual<Other>>, actual<Other>>;

/// The axes over which `L` splits `D`, outermost first.
template<class L, class D>
using axes_of = typename detail::axes_lookup<actual<L>, D>::type;

}  // namespace v0
}  // namespace meshtf
