// A mesh as a value: its name, and the names and sizes of its axes. Messages, explanations and traces are
// made of it.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include <meshtf/core/name.hpp>
#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

template<class Axes>
inline constexpr std::array<std::string_view, 0> axis_names{};
template<class... A>
inline constexpr std::array<std::string_view, sizeof...(A)> axis_names<axes<A...>>{name<A>...};

}  // namespace detail

/// A mesh with the names and sizes of its axes, in the order of its list.
struct named_mesh {
  std::string_view name{};
  std::span<std::string_view const> axes{};
  std::span<extent const> sizes{};

  constexpr int count() const { return static_cast<int>(axes.size()); }
  constexpr std::string_view axis(int a) const { return axes[static_cast<std::size_t>(a)]; }
  constexpr extent size(int a) const { return sizes[static_cast<std::size_t>(a)]; }
  constexpr extent processes(axis_set over) const { return processes_along(sizes, over); }
  constexpr axis_set all() const { return (axis_set{1} << count()) - 1; }
  /// Those of these axes that join more than one process. Along the others nothing is split and nothing is
  /// sent.
  constexpr axis_set joining(axis_set over) const {
    for (int a = 0; a < count(); ++a)
      if (size(a) == 1) over &= ~(axis_set{1} << a);
    return over;
  }
};

/// The names of a mesh and of its axes.
template<Mesh M>
inline constexpr named_mesh named_mesh_of{
    .name  = detail::name<M>,
    .axes  = detail::axis_names<typename M::all_axes>,
    .sizes = std::span{axis_sizes<M>}.first(detail::axis_names<typename M::all_axes>.size()),
};

}  // namespace v0
}  // namespace meshtf
