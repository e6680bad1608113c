// Meshes: the processes as a grid with named axes.
#pragma once

#include <concepts>
#include <cstdint>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// What connects the processes along an axis: the memory or the fast links of one node, or a network between
/// nodes.
enum class link : std::uint8_t { within_node, between_nodes };

/// Base of every axis of a mesh. The derived type is the name.
///
///     struct rows : meshtf::axis<2> {};
///     struct pods : meshtf::axis<2, meshtf::link::between_nodes> {};
///
/// The link changes no value: a long sum over axes of both kinds is made so that the slow link carries less,
/// and modelled times distinguish the two.
template<extent Processes, link Over = link::within_node>
struct axis {
  static_assert(Processes > 0, "meshtf: an axis has at least one process");
  static constexpr extent size    = Processes;
  static constexpr link over_link = Over;
};

/// A class that derives from `axis<N>`: a name, and N processes along it.
template<class A>
concept MeshAxis = requires {
  A::size;
  A::over_link;
} && std::derived_from<A, axis<A::size, A::over_link>>;

/// An ordered list of axes.
template<MeshAxis... A>
struct axes {
  static constexpr int count   = int{sizeof...(A)};
  static constexpr extent size = (A::size * ... * extent{1});

  template<class X>
  static constexpr bool has = (std::same_as<X, A> || ...);
};

/// A mesh has at most this many axes. An `axis_set` stores one bit for each.
inline constexpr int max_axes = 8;

namespace detail {

template<class X, class... All>
inline constexpr int times_among = (int{std::same_as<X, All>} + ... + 0);

}  // namespace detail

/// The processes as a grid. Ranks are row-major: neighbours along the last axis have neighbouring ranks.
///
///     struct grid : meshtf::mesh<rows, cols> {};
template<MeshAxis... A>
struct mesh {
  static_assert(sizeof...(A) <= max_axes, "meshtf: a mesh has at most 8 axes");
  static_assert(((detail::times_among<A, A...> == 1) && ...),
                "meshtf: a mesh names each axis once; aliases of meshtf::axis<2> are one axis");
  using all_axes               = axes<A...>;
  static constexpr extent size = (A::size * ... * extent{1});
};

/// A class that derives from `mesh<A...>`: processes with a coordinate along each of the axes.
template<class M>
concept Mesh = requires {
  typename M::all_axes;
  M::size;
};

}  // namespace v0
}  // namespace meshtf
