// A layout as numbers: what the price of a record depends on.
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include <meshtf/core/small_array.hpp>
#include <meshtf/search/undecided_plans.hpp>

namespace meshtf {
inline namespace v0 {

/// A mesh and the axes over which a record's open dimensions are split, as numbers: the bits of `over[i]` are
/// the axes that split the i-th dimension. Sizes follow once the dimensions are known (`know`).
struct layout_numbers {
  small_array<extent, max_axes> sizes{};  // of the mesh's axes; 1 past the last
  axis_set joining = 0;                   // the axes that join processes
  small_array<axis_set, max_axes> over{};
  small_array<extent, max_axes> parts{};
  // the global and the allocated extent of each dimension
  small_array<extent, max_axes> whole{};
  small_array<extent, max_axes> room{};
  dim_set out_of_order = 0;  // dimensions whose axes are not in the mesh's order
  dim_set pads         = 0;  // dimensions whose parts need not divide them

  constexpr layout_numbers() {
    parts.fill(1);
    sizes.fill(1);
    whole.fill(1);
    room.fill(1);
  }

  constexpr extent processes(axis_set axes) const {
    extent n = 1;
    for (; axes != 0; axes &= axes - 1) n *= sizes[std::countr_zero(axes)];
    return n;
  }
  constexpr extent local(undecided_dim const& d) const {
    return d.open == 0 ? d.size : room[std::countr_zero(d.open)];
  }
  constexpr extent parts_of(undecided_dim const& d) const {
    return d.open == 0 ? 1 : parts[std::countr_zero(d.open)];
  }
  constexpr extent whole_of(dim_set dims) const { return product(whole, dims); }
  constexpr extent room_of(dim_set dims) const { return product(room, dims); }
  /// Each dimension is rounded up by itself, so the size is divided by whole dimensions and multiplied by the
  /// allocated extents of one process.
  constexpr extent local(undecided_size const& n) const {
    return n.whole / whole_of(n.dims) * room_of(n.dims);
  }
  /// The axes that join processes and split any of these dimensions.
  constexpr axis_set split(dim_set dims) const {
    if ((dims & every_axis) != 0) return joining;
    axis_set axes = 0;
    for (; dims != 0; dims &= dims - 1) axes |= over[std::countr_zero(dims)];
    return axes;
  }
  constexpr void put(int dim, axis_set axes) {
    over[dim] = axes & joining;
    cut(dim, processes(axes));
  }
  constexpr void cut(int dim, extent into) {
    parts[dim] = into;
    room[dim]  = (whole[dim] + into - 1) / into;
  }
  /// The sizes of the dimensions.
  constexpr void know(std::span<extent const> of_dims) {
    for (std::size_t d = 0; d < of_dims.size(); ++d) {
      whole[d] = of_dims[d];
      cut(static_cast<int>(d), parts[d]);
    }
  }
  constexpr bool is_uneven(int dim) const { return whole[dim] % parts[dim] != 0; }

private:
  static constexpr extent product(small_array<extent, max_axes> const& factors, dim_set dims) {
    extent n = 1;
    for (; dims != 0; dims &= dims - 1) n *= factors[std::countr_zero(dims)];
    return n;
  }
};

}  // namespace v0
}  // namespace meshtf
