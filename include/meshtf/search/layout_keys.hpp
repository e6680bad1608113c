// What distinguishes layouts in the price of a call: numbers for sets of axes, and the dimensions that a call
// depends on.
#pragma once

#include <meshtf/core/growing.hpp>
#include <meshtf/search/record_price.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A number for each set of axes. Sets that join as many processes of a node and as many nodes have the same
/// number, because they have the same price.
template<Mesh M>
struct numbers_of_axis_sets {
  int numbers[std::size_t{1} << M::all_axes::count]{};
  extent count = 0;

  constexpr numbers_of_axis_sets() {
    layout_numbers const sizes = numbers_of_mesh<M>();
    growing<extent> within;
    growing<extent> between;
    for (axis_set set = 0; set < axis_set{1} << M::all_axes::count; ++set) {
      extent const near = sizes.processes(set & sizes.joining & ~axes_between_nodes<M>);
      extent const far  = sizes.processes(set & sizes.joining & axes_between_nodes<M>);
      int i             = 0;
      while (i < within.size() && (within[i] != near || between[i] != far)) ++i;
      if (i == within.size()) {
        within.push_back(near);
        between.push_back(far);
      }
      numbers[set] = i;
    }
    count = within.size();
  }
};

/// The dimensions of a set, as a list.
struct listed_dims {
  int dim[max_axes]{};
  int count = 0;

  constexpr listed_dims() = default;
  constexpr explicit listed_dims(dim_set dims) {
    for (int d = 0; d < static_cast<int>(max_axes); ++d)
      if ((dims >> d & 1) != 0) dim[count++] = d;
  }
};

/// A key for which axes these are, where it matters to a call which axes its dimensions share: those of a
/// move between pairs of dimensions. Others depend on the numbers of axis sets only.
template<class Numbers>
constexpr extent key_of_axes(listed_dims const& dims, Numbers const& over) {
  extent key = 0;
  for (int k = 0; k < dims.count; ++k) key = key << 8 | static_cast<extent>(over[dims.dim[k]]);
  return key;
}
constexpr dim_set dims_of_move(recorded_call const& c, dim_set searched) {
  return (c.dims() | c.if_.dims) & searched;
}

/// The searched dimensions that decide whether a call is made, and over which axes.
constexpr dim_set decides_on(recorded_call const& c, dim_set searched) {
  if (c.over != 0 && c.if_.dims != 0 && c.over != c.if_.dims)
    throw "meshtf: a sum within the condition of another one is not priced";
  return ((c.over | c.if_.dims) & every_axis) != 0 ? 0 : (c.over | c.if_.dims) & searched;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
