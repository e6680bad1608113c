// Links: which axes of a mesh join processes of one node, and which join nodes.
#pragma once

#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// The axes of `M` that are declared `link::between_nodes`.
template<Mesh M>
inline constexpr axis_set axes_between_nodes = []<class... A>(axes<A...>) {
  axis_set set = 0;
  int number   = 0;
  ((set |= (A::over_link == link::between_nodes ? axis_set{1} : axis_set{0}) << number++), ...);
  return set & joining_axes<M>;
}(typename M::all_axes{});

/// The axes of a sum by link, and how many processes each kind of link joins.
struct sum_by_link {
  axis_set within  = 0;
  axis_set between = 0;
  extent processes = 1;
  extent nodes     = 1;
};

/// The axes `over`, by link.
template<Mesh M>
constexpr sum_by_link by_link(axis_set over) {
  axis_set const between = over & axes_between_nodes<M>;
  axis_set const within  = over & joining_axes<M> & ~between;
  return {within, between, processes_along(axis_sizes<M>, within), processes_along(axis_sizes<M>, between)};
}

}  // namespace v0
}  // namespace meshtf
