// Layouts: which dimension is split over which axes of which mesh.
#pragma once

#include <concepts>
#include <tuple>
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

/// Stages are cut evenly: of n blocks, stage k of K works on those from n k / K to n (k + 1) / K.
struct even_cut {};

/// One rule of a layout: the program is a pipeline whose stages lie along `Axis`. Each process works on one
/// stage of it, and is idle while the program is at another. The axis splits no dimension.
///
///     struct piped : meshtf::layout<grid, meshtf::staged<stages>, meshtf::split<batch, rows>> {};
///
/// `Cut` says which blocks a stage has (`nn::stack`): `even_cut{}`, or an array of where each stage begins
/// and the number of blocks, `staged<stages, std::array{0, 3, 6, 8}>` (see `nn::balanced_cut`). Source: Huang
/// et al., GPipe (2019).
template<MeshAxis Axis, auto Cut = even_cut{}>
struct staged {
  using dimension            = staged;  // none: it keeps the rules of one form
  using over                 = axes<Axis>;
  static constexpr auto cut  = Cut;
  static constexpr bool pads = false;
};

/// A rule of a layout: `split`, `padded`, `staged`, and others of the same form.
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

/// `Axis` is that of the stages, so it splits no dimension, but a rule splits `Dim` over it.
template<class Axis, class Dim>
struct axis_of_stages_splits_dim {};

/// The stages of a pipeline lie along one axis, but the layout has a second rule that names one.
template<class First, class Second>
struct two_axes_of_stages {};

namespace detail {

/// Whether a rule splits no dimension: it says something else of the layout.
template<class R>
inline constexpr bool is_other_rule = false;
template<class Axis, auto Cut>
inline constexpr bool is_other_rule<staged<Axis, Cut>> = true;

/// No rule of a layout says where stages lie.
struct no_stages {
  using axis                = void;
  static constexpr auto cut = even_cut{};
  static constexpr bool is  = false;
};
template<class Axis, auto Cut>
struct stages_by_rule {
  using axis                = Axis;
  static constexpr auto cut = Cut;
  static constexpr bool is  = true;
};

template<class... Rules>
struct stages_among : std::type_identity<no_stages> {};
template<class Rule, class... Rest>
struct stages_among<Rule, Rest...> : stages_among<Rest...> {};
template<class Axis, auto Cut, class... Rest>
struct stages_among<staged<Axis, Cut>, Rest...> : std::type_identity<stages_by_rule<Axis, Cut>> {};

/// The objection to the other rules of a layout with stages along `Axis`.
template<class Axis, class Rule>
struct stages_objection
    : std::type_identity<std::conditional_t<
          Rule::over::template has<Axis>, axis_of_stages_splits_dim<Axis, typename Rule::dimension>, legal>> {
};
template<class Axis, class Other, auto Cut>
struct stages_objection<Axis, staged<Other, Cut>>
    : std::type_identity<
          std::conditional_t<std::is_same_v<Axis, Other>, legal, two_axes_of_stages<Axis, Other>>> {};
template<class Axis, class Rule>
using stages_and_rule = typename stages_objection<Axis, Rule>::type;

template<class Axis, class... Rules>
struct stages_objections : std::type_identity<first_objection<stages_and_rule<Axis, Rules>...>> {};
template<class... Rules>
struct stages_objections<void, Rules...> : std::type_identity<legal> {};

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
    : std::type_identity<first_objection<
          one_rule<typename Rules::dimension, typename Rules::dimension...>...,
          typename rule_objection<M, Rules, typename Rules::over>::type...,
          typename stages_objections<typename stages_among<Rules...>::type::axis, Rules...>::type>> {};

// A Hana map may not hold a key twice. A layout with such rules has a verdict of its own and places nothing,
// so its map may be empty.
template<class... Rules>
consteval auto map_of(std::tuple<Rules...> const*) {
  return hana::make_map(
      hana::make_pair(hana::type_c<typename Rules::dimension>, hana::type_c<typename Rules::over>)...);
}

/// The rules that split dimensions.
template<class Kept, class... Rules>
struct split_rules : std::type_identity<Kept> {};
template<class... Kept, class Rule, class... Rest>
struct split_rules<std::tuple<Kept...>, Rule, Rest...>
    : split_rules<std::conditional_t<is_other_rule<Rule>, std::tuple<Kept...>, std::tuple<Kept..., Rule>>,
                  Rest...> {};

template<bool Sound, class... Rules>
consteval auto map_of_rules() {
  if constexpr (!Sound) return hana::make_map();
  else if constexpr ((is_other_rule<Rules> || ...))
    return map_of(static_cast<typename split_rules<std::tuple<>, Rules...>::type*>(nullptr));
  else
    return hana::make_map(
        hana::make_pair(hana::type_c<typename Rules::dimension>, hana::type_c<typename Rules::over>)...);
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
  using stages_rule           = typename detail::stages_among<Rules...>::type;
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

/// Whether a program under `L` is a pipeline of stages.
template<class L>
inline constexpr bool is_staged = detail::base_layout_of<L>::stages_rule::is;

/// The axis along which the stages of `L` lie; void if `L` has no rule for them.
template<class L>
using stage_axis = typename detail::base_layout_of<L>::stages_rule::axis;

namespace detail {

template<class Axis>
inline constexpr int stages_along = static_cast<int>(Axis::size);
template<>
inline constexpr int stages_along<void> = 1;

}  // namespace detail

/// The number of stages under `L`; 1 without a rule for them.
template<class L>
inline constexpr int stage_count = detail::stages_along<stage_axis<L>>;

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
