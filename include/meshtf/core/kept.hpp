// Where the parameters of a model are kept, under a layout that keeps them in smaller parts than it uses them
// in.
#pragma once

#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// One rule of a layout: each parameter of the layers is cut once more over `Axes...`, along its first
/// dimension that the layout leaves whole and that the parts divide (or, if they divide none, that is at
/// least as long as they are many, padded). It is gathered where it is used, and again in the backward pass;
/// its gradient is reduce-scattered, and the optimizer keeps and updates the part alone.
///
///     struct zero3 : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::kept_over<rows>> {};
///
/// A parameter shorter than 1 KiB stays as it is, and so does one that is split over one of the axes.
/// Source: Rajbhandari and others, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models
/// (2020), stage 3; `fully_shard` of PyTorch.
template<MeshAxis... Axes>
struct kept_over {
  using dimension            = kept_over;  // none: it keeps the rules of one form
  using over                 = axes<Axes...>;
  static constexpr bool pads = false;
};

/// One rule of a layout with `kept_over`: each weight is gathered by a message of its own, where it is used.
/// Without it the weights of a block travel in one message each way (`with_gathered_weights`), and the block
/// holds them together.
struct one_message_a_weight {
  using dimension            = one_message_a_weight;  // none: it keeps the rules of one form
  using over                 = axes<>;
  static constexpr bool pads = false;
};

namespace detail {

template<class... Axes>
inline constexpr bool is_other_rule<kept_over<Axes...>> = true;
template<>
inline constexpr bool is_other_rule<one_message_a_weight> = true;

/// The axes of a layout's rule `kept_over`; none without it.
template<class... Rules>
struct kept_axes_among : std::type_identity<axes<>> {};
template<class Rule, class... Rest>
struct kept_axes_among<Rule, Rest...> : kept_axes_among<Rest...> {};
template<class... Axes, class... Rest>
struct kept_axes_among<kept_over<Axes...>, Rest...> : std::type_identity<axes<Axes...>> {};

template<class M, class... Rules>
typename kept_axes_among<Rules...>::type kept_axes_in(layout<M, Rules...> const*);
template<class L>
using kept_axes = decltype(kept_axes_in(static_cast<base_layout_of<L> const*>(nullptr)));

/// The rules of `L` with `Rule` in the place of `kept_over`: `Rule` splits a dimension that L leaves whole.
template<class Kept, class Base, class Rule>
struct with_rule;
template<class M, class... Kept, class Rule>
struct with_rule<layout<M, Kept...>, layout<M>, Rule> : std::type_identity<layout<M, Kept..., Rule>> {};
template<class M, class... Kept, class First, class... Rest, class Rule>
struct with_rule<layout<M, Kept...>, layout<M, First, Rest...>, Rule>
    : with_rule<layout<M, Kept..., First>, layout<M, Rest...>, Rule> {};
template<class M, class... Kept, class... Axes, class... Rest, class Rule>
struct with_rule<layout<M, Kept...>, layout<M, kept_over<Axes...>, Rest...>, Rule>
    : with_rule<layout<M, Kept...>, layout<M, Rest...>, Rule> {};

/// The layout of what is kept in smaller parts than `L` says: `Rule` is added.
template<class L, class Rule>
struct kept_in_parts : with_rule<layout<typename L::mesh_type>, base_layout_of<L>, Rule>::type {};

/// Whether `Kept` is what `L` keeps some parameter under.
template<class L, class Kept>
inline constexpr bool is_kept_part_of = false;
template<class L, class Rule>
inline constexpr bool is_kept_part_of<L, kept_in_parts<L, Rule>> = true;

/// Whether something is kept under `L` in smaller parts than it is used in.
template<class L>
inline constexpr bool is_layout_of_kept_parts = false;
template<class L, class Rule>
inline constexpr bool is_layout_of_kept_parts<kept_in_parts<L, Rule>> = true;

template<class M, class... Rules>
constexpr bool has_one_message_a_weight(layout<M, Rules...> const*) {
  return (std::is_same_v<Rules, one_message_a_weight> || ...);
}
template<class L>
struct packs_weights_under
    : std::bool_constant<!std::is_same_v<kept_axes<L>, axes<>> &&
                         !has_one_message_a_weight(static_cast<base_layout_of<L> const*>(nullptr))> {};
template<class L, class Rule>
struct packs_weights_under<kept_in_parts<L, Rule>> : packs_weights_under<L> {};
/// Whether the weights of a block travel together under `L`, or under the layout that keeps a part for it.
template<class L>
inline constexpr bool packs_weights = packs_weights_under<L>::value;

enum class keeping : unsigned char { as_it_is, equal_parts, padded_parts };
struct kept_choice {
  keeping how   = keeping::as_it_is;
  int dimension = 0;  // by its position
};

/// How a parameter of dimensions `dims` and this many bytes is kept over `axes` that make `parts` parts.
constexpr kept_choice choose_kept(std::span<placed const> dims, axis_set over, extent parts, extent bytes) {
  constexpr extent short_array = 1024;
  if (parts == 1 || bytes < short_array) return {};
  for (placed const& d : dims)
    if ((d.over.set() & over) != 0) return {};
  for (int i = 0; i < static_cast<int>(dims.size()); ++i)
    if (placed const& d = dims[static_cast<std::size_t>(i)]; d.parts == 1 && d.size % parts == 0)
      return {keeping::equal_parts, i};
  for (int i = 0; i < static_cast<int>(dims.size()); ++i)
    if (placed const& d = dims[static_cast<std::size_t>(i)]; d.parts == 1 && d.size >= parts)
      return {keeping::padded_parts, i};
  return {};
}

template<class T, class L, class S, class Over>
struct kept_layout;
template<class T, class L, class... D>
struct kept_layout<T, L, shape<D...>, axes<>> : std::type_identity<L> {};
template<class T, class L, class... D, class First, class... Rest>
struct kept_layout<T, L, shape<D...>, axes<First, Rest...>> {
  static constexpr axis_set over = axis_set_of<typename L::mesh_type, axes<First, Rest...>>;
  static constexpr kept_choice choice =
      choose_kept(placed_dims<L, shape<D...>>, over, processes_along(axis_sizes<typename L::mesh_type>, over),
                  shard_size<L, shape<D...>>* extent{sizeof(T)});

  static auto chosen() {
    using dim = std::tuple_element_t<std::size_t{choice.dimension}, std::tuple<D...>>;
    if constexpr (choice.how == keeping::equal_parts)
      return std::type_identity<kept_in_parts<actual<L>, split<dim, First, Rest...>>>{};
    else if constexpr (choice.how == keeping::padded_parts)
      return std::type_identity<kept_in_parts<actual<L>, padded<dim, First, Rest...>>>{};
    else return std::type_identity<actual<L>>{};
  }
  using type = layout_beside<L, typename decltype(chosen())::type>;
};

}  // namespace detail

/// The layout under which a layer keeps a parameter of shape `S` and elements `T`: `L` itself, unless L has a
/// rule `kept_over`.
template<class T, Layout L, class S>
using kept_layout = typename detail::kept_layout<T, L, S, detail::kept_axes<actual<L>>>::type;

}  // namespace v0
}  // namespace meshtf
