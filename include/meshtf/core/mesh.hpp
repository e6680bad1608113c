// Meshes: the processes as a grid with named axes.
#pragma once

#include <concepts>

#include <meshtf/core/dim.hpp>

namespace meshtf::inline v0 {

/// Base of every axis of a mesh. The derived type is the name.
///
///     struct rows : meshtf::axis<2> {};
template<extent Processes>
struct axis {
  static_assert(Processes > 0, "meshtf: an axis has at least one process");
  static constexpr extent size = Processes;
};

template<class A>
concept MeshAxis = requires { A::size; } && std::derived_from<A, axis<A::size>>;

/// An ordered list of axes.
template<MeshAxis... A>
struct axes {
  static constexpr int count   = int{sizeof...(A)};
  static constexpr extent size = (A::size * ... * extent{1});

  template<class X>
  static constexpr bool has = (std::same_as<X, A> || ...);
};

/// More axes than this no mesh has: sets of axes are bits of an `axis_set`.
inline constexpr int max_axes = 8;

namespace detail {

template<class X, class... All>
inline constexpr int times_among = (int{std::same_as<X, All>} + ... + 0);

}  // namespace detail

/// The processes, as a grid. Ranks are row-major: the last axis is the one whose neighbours have neighbouring ranks.
///
///     struct grid : meshtf::mesh<rows, cols> {};
template<MeshAxis... A>
struct mesh {
  static_assert(sizeof...(A) <= max_axes, "meshtf: a mesh has at most 8 axes");
  static_assert(((detail::times_among<A, A...> == 1) && ...), "meshtf: a mesh names each axis once");
  using all_axes               = axes<A...>;
  static constexpr extent size = (A::size * ... * extent{1});
};

template<class M>
concept Mesh = requires {
  typename M::all_axes;
  M::size;
};

}  // namespace meshtf::inline v0
