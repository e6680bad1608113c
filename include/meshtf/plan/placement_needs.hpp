// What an operation needs of a layout that has yet to be chosen. A verdict refuses a layout that is known;
// these are the same rules for the search, which ranks only layouts that keep them.
#pragma once

#include <array>

#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// No axis of this set splits what the operation works along: `split_over<L, shape<D>>` of dimensions that
/// must be whole.
struct unsplit {
  axis_set over = 0;
};

/// Where an axis of this set splits a dimension, its parts are equal.
struct equal_parts {
  axis_set over = 0;
};

/// Parts move, so axes of this set split in the order of the mesh.
struct parts_in_order {
  axis_set over = 0;
};

/// Parts of two dimensions with the same number are in one process and of one size, or both dimensions are
/// whole.
struct parts_in_step {
  axis_set first  = 0;
  axis_set second = 0;
};

/// At most one dimension of these is split: each process sees its neighbours along one of them.
struct one_split {
  axis_set over = 0;
};

/// A process reads a halo of `elements` elements from each neighbouring part, so a part has at least as many.
struct halo_within_part {
  axis_set over   = 0;
  extent elements = 0;
};

/// A dimension as the search sees it: its size, and the axes that may split it.
struct sized_dim {
  extent size   = 1;
  axis_set over = 0;
};
template<Layout L, Dimension D>
inline constexpr sized_dim sized_under{D::size, split_over<L, shape<D>>};

/// `whole` is cut into `parts`, the first outermost, or put together from them, and no element moves.
template<std::size_t N>
struct elements_stay {
  sized_dim whole;
  std::array<sized_dim, N> parts;
};

}  // namespace v0
}  // namespace meshtf
