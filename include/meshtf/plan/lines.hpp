// Lines: a tensor seen as lines along one of its dimensions.
#pragma once

#include <meshtf/core/odometer.hpp>
#include <meshtf/core/verdict.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {

/// `Dim` has `Size` elements, but an int32 index distinguishes only `Max`. `split_dim` it, and index one
/// part after the other.
template<class Dim, extent Size, extent Max>
struct dim_is_too_long_for_an_index {};

namespace detail {

inline constexpr extent max_indices = extent{1} << 31;

/// `legal`, or the objection to an int32 as an index along `Dim`.
template<class Dim>
using index_verdict = std::conditional_t<(Dim::size <= max_indices), legal,
                                         dim_is_too_long_for_an_index<Dim, Dim::size, max_indices>>;

}  // namespace detail

/// Where the blocks of lines begin in each of up to three arrays: loops, outermost first. Mostly there is one
/// block, and no loop.
struct block_loops {
  int rank = 0;
  small_array<extent, max_rank> size{};
  small_array<small_array<extent, max_rank>, 3> stride{};

  constexpr void add(extent iterations, extent in_first, extent in_second, extent in_third = 0) {
    size[rank]      = iterations;
    stride[0][rank] = in_first;
    stride[1][rank] = in_second;
    stride[2][rank] = in_third;
    ++rank;
  }
  constexpr extent iterations() const {
    extent n = 1;
    for (int i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
  /// f(at), where at[k] is the offset of a block in the k-th array.
  template<class F>
  constexpr void for_each(F const& f) const {
    if (rank == 0) f(std::array<extent, 3>{});
    else for_each_index<3>(size.first(rank), stride, {}, f);
  }
  /// The same, the last block first.
  template<class F>
  constexpr void for_each_backwards(F const& f) const {
    std::array<extent, 3> last{};
    for (int i = 0; i < rank; ++i)
      for (int k = 0; k < 3; ++k) last[static_cast<std::size_t>(k)] += (size[i] - 1) * stride[k][i];
    for_each([&](auto const& offset) {
      f(std::array<extent, 3>{last[0] - offset[0], last[1] - offset[1], last[2] - offset[2]});
    });
  }
};

/// A row-major shard as lines along one of its dimensions, with an array that has an element for each line.
/// They are walked in blocks of [outer][along][inner] elements. If all allocated elements of a process are
/// local, which is the rule, one block is the whole shard.
struct line_steps {
  // of a block
  extent outer        = 1;
  extent along        = 1;
  extent inner        = 1;
  extent outer_stride = 1;  // elements from one outer index to the next
  extent step         = 1;  // elements from one element of a line to the next
  // elements from one outer index to the next in the array that has one for each line
  extent line_stride = 1;
  block_loops blocks{};        // over the shard and the array that has one for each line
  extent allocated_lines = 1;  // allocated lines: equal on all processes
  // elements along the dimension: allocated, and global
  extent allocated = 1;
  extent global    = 1;
  axis_list over{};  // the axes that split the dimension

  /// It uses the first array, and asks for the loop along the lines.
  static constexpr line_steps plan(task_loops const& l, loop_extents const& e) {
    dim_list lines;
    for (int d : l.operand[0])
      if (d != l.along[0]) lines.push_back(d);
    return plan(l, e, l.operand[0], lines, l.along[0]);
  }
  /// The lines along `dim` of an array of the dimensions `x`, with an array of the dimensions `lines`,
  /// which has the others in the same order. The dimensions `fixed_dims` are left to others.
  static constexpr line_steps plan(task_loops const& l, loop_extents const& e, dim_list const& x,
                                   dim_list const& lines, int dim, dim_list const& fixed_dims = {}) {
    auto const in_x     = strides_of(x, e.allocated_extents());
    auto const in_lines = strides_of(lines, e.allocated_extents());
    line_steps s{.along     = e.local[dim],
                 .step      = in_x[dim],
                 .allocated = e.allocated[dim],
                 .global    = e.global[dim],
                 .over      = l.dim[dim].over};
    bool before = false;
    bool some   = false;
    for (int i = x.count; i-- > 0;) {
      int const d    = x[i];
      extent const n = e.local[d];
      if (d == dim) {
        before = true;
        continue;
      }
      if (fixed_dims.has(d)) continue;
      s.allocated_lines *= e.allocated[d];
      if (e.makes_one_iteration(d)) continue;
      if (!before && in_x[d] == s.inner && in_lines[d] == s.inner) s.inner *= n;
      else if (before && !some) {
        some           = true;
        s.outer        = n;
        s.outer_stride = in_x[d];
        s.line_stride  = in_lines[d];
      } else if (before && in_x[d] == s.outer_stride * s.outer && in_lines[d] == s.line_stride * s.outer)
        s.outer *= n;
      else s.blocks.add(n, in_x[d], in_lines[d]);
    }
    return s;
  }

  constexpr extent rows() const { return blocks.iterations() * outer * inner; }
  /// The global index of the first element of each line that the process holds.
  constexpr extent first(place_in_mesh const& here) const {
    return over.count == 0 ? 0 : here.part_of(over) * allocated;
  }
};

/// The lines of a contiguous array of [outer][along][inner] elements that are whole in the process.
constexpr line_steps contiguous_lines(extent outer, extent along, extent inner) {
  return {.outer           = outer,
          .along           = along,
          .inner           = inner,
          .outer_stride    = along * inner,
          .step            = inner,
          .line_stride     = inner,
          .allocated_lines = outer * inner,
          .allocated       = along,
          .global          = along};
}

}  // namespace v0
}  // namespace meshtf
