// Blocks: the two innermost loops of a nest cut into pieces in which every operand is rows of contiguous elements, if need be by copying it into the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/core/element.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf::inline v0 {
namespace kernel {
namespace detail {

/// What an operand's copy of a block holds at most, in elements; the copies of all operands stay in the first-level cache.
inline constexpr extent block_elements = 256;

/// Rows no longer than this, or shorter than a batch, leave most lanes empty: they are joined to longer ones, and sums along them go across them.
inline constexpr extent narrow = 8;

/// How an operand is read: where it lies, as copies of the one value of a row, or from a copy of the block. The result is never `one_value`.
enum class access : unsigned char { direct, one_value, copied };

/// The two loops that a kernel's blocks are cut from, and how. Decided once a nest.
struct block_plan {
  int across  = -1;  // the loops' numbers in the nest, -1 if it has so few; rows follow each other across
  int along   = -1;
  extent rows = 1, columns = 1;  // turns of the two loops
  extent block_rows = 1, block_columns = 1;
  extent strip = 1;  // columns that are done in all rows before the next: where an operand is read across, so that few pages are open
  bool joined  = false;  // a block's rows follow each other without a gap, in every operand: it is one row
  std::array<access, max_operands> how{};
  std::array<extent, max_operands> row_stride{}, column_stride{};
};

/// The loops to cut: the innermost two, but (a) a sum along narrow rows becomes a sum of columns, (b) where an operand is read across its rows, the loop
/// along them is taken too, so that whole cache lines are used, (c) where both are tiny, one gives way to the longest.
constexpr void choose_loops(nest_steps const& nest, extent width, block_plan& plan) {
  auto const size   = [&](int loop) { return nest.size[static_cast<std::size_t>(loop)]; };
  auto const stride = [&](int k, int loop) { return nest.stride[static_cast<std::size_t>(k)][static_cast<std::size_t>(loop)]; };
  int const result  = nest.operands - 1;

  plan.along  = nest.rank - 1;
  plan.across = nest.rank > 1 ? nest.rank - 2 : -1;
  if (nest.rank < 2) return;

  if (nest.reduces && stride(result, plan.along) == 0 && size(plan.along) < std::max(width, narrow + 1)) {
    int longest = -1;
    for (int i = 0; i < nest.rank; ++i)
      if (stride(result, i) != 0 && (longest < 0 || size(i) >= size(longest))) longest = i;
    if (longest >= 0 && size(longest) > size(plan.along)) {
      plan.across = plan.along, plan.along = longest;
      return;
    }
  }
  for (int k = 0; k < nest.operands; ++k)
    if (stride(k, plan.along) > 1)
      for (int i = 0; i < nest.rank; ++i)
        if (stride(k, i) == 1) {
          plan.across = i;
          return;
        }
  if (size(plan.along) * size(plan.across) < 64)
    for (int i = 0; i < nest.rank; ++i)
      if (i != plan.along && size(i) > size(plan.across)) plan.across = i;
}

/// `width`: lanes of a batch. `batches`: the functor takes them. `buffered`: what the functor gives is kept for a block before it is used.
constexpr block_plan plan_blocks(nest_steps const& nest, extent width, bool batches, bool buffered) {
  block_plan plan;
  choose_loops(nest, width, plan);
  auto const result = static_cast<std::size_t>(nest.operands - 1);
  for (std::size_t k = 0; k <= result; ++k) {
    plan.row_stride[k]    = plan.across < 0 ? 0 : nest.stride[k][static_cast<std::size_t>(plan.across)];
    plan.column_stride[k] = plan.along < 0 ? 1 : nest.stride[k][static_cast<std::size_t>(plan.along)];
  }
  if (plan.across >= 0) plan.rows = nest.size[static_cast<std::size_t>(plan.across)];
  if (plan.along >= 0) plan.columns = nest.size[static_cast<std::size_t>(plan.along)];

  bool copies = buffered, one_a_row = false, crossed = false;
  plan.joined = plan.rows > 1 && plan.columns < std::max(width, narrow + 1);
  for (std::size_t k = 0; k <= result; ++k) {
    extent const down = plan.row_stride[k], step = plan.column_stride[k];
    bool const sums = k == result && (step == 0 || (down == 0 && plan.rows > 1));
    if (sums ? step <= 1 : step == 1 && (!plan.joined || down == plan.columns)) continue;
    if (k < result && batches && step == 0 && (down == 0 || !plan.joined)) {
      plan.how[k] = access::one_value;
      one_a_row |= down != 0;
    } else {
      plan.how[k] = access::copied;
      copies      = true;
      crossed |= down != 0 && down < step;
    }
  }

  plan.block_rows    = plan.rows;
  plan.block_columns = plan.columns;
  plan.strip         = plan.columns;
  if (plan.joined) {
    plan.block_rows = std::min(plan.rows, block_elements / plan.columns);
  } else if (copies && crossed) {
    plan.block_rows    = std::min({plan.rows, extent{16}, block_elements / width});
    plan.block_columns = std::min(plan.columns, block_elements / plan.block_rows / 16 * 16);
    plan.strip         = 8 * plan.block_columns;
  } else if (copies) {
    plan.block_rows    = 1;
    plan.block_columns = std::min(plan.columns, block_elements);
  } else if (one_a_row) {
    plan.block_rows = std::min(plan.rows, block_elements / width);
  }
  return plan;
}

/// A piece of the two loops.
struct block {
  extent row, column;  // where it begins
  extent rows, columns;
};

template<class Body>
void for_each_block(block_plan const& plan, Body body) {
  for (extent strip = 0; strip < plan.columns; strip += plan.strip)
    for (extent r = 0; r < plan.rows; r += plan.block_rows)
      for (extent c = strip; c < std::min(strip + plan.strip, plan.columns); c += plan.block_columns)
        body(block{r, c, std::min(plan.block_rows, plan.rows - r), std::min(plan.block_columns, plan.columns - c)});
}

/// Calls `body(offsets, again)` for every turn of the loops that are not in the plan: where each operand then stands, and whether the result was there before.
template<class Body>
void for_each_plane(nest_steps const& nest, block_plan const& plan, Body body) {
  auto const operands = static_cast<std::size_t>(nest.operands);
  std::array<std::size_t, max_rank> loops{};
  std::array<extent, max_rank> turn{};
  std::array<extent, max_operands> at{};
  std::size_t count = 0;
  for (int i = 0; i < nest.rank; ++i)
    if (i != plan.across && i != plan.along) loops[count++] = static_cast<std::size_t>(i);

  for (int repeated = 0;;) {
    body(at, repeated > 0);
    for (std::size_t i = count;;) {
      if (i-- == 0) return;
      std::size_t const loop = loops[i];
      bool const still       = nest.stride[operands - 1][loop] == 0;
      for (std::size_t k = 0; k < operands; ++k) at[k] += nest.stride[k][loop];
      if (++turn[i] < nest.size[loop]) {
        if (still && turn[i] == 1) ++repeated;
        break;
      }
      for (std::size_t k = 0; k < operands; ++k) at[k] -= nest.stride[k][loop] * nest.size[loop];
      turn[i] = 0;
      if (still) --repeated;
    }
  }
}

/// Calls `each(i, at)` for the i-th element of a block and where it lies in strided memory, in the order of that memory.
template<class T, class Each>
void for_each_element(block const& b, extent row_stride, extent column_stride, Each each) {
  if (row_stride < column_stride && b.rows > 1) {
    for (extent c = 0; c < b.columns; ++c)
      for (extent r = 0; r < b.rows; ++r) each(r * b.columns + c, r * row_stride + c * column_stride);
  } else {
    for (extent r = 0; r < b.rows; ++r)
      for (extent c = 0; c < b.columns; ++c) each(r * b.columns + c, r * row_stride + c * column_stride);
  }
}

/// An operand within a block: its first row, from row to row, and whether it moves along the row (all bits) or stands still (none).
template<class T>
struct piece {
  T const* at;
  extent row;
  extent moves;
};

/// Operand `k` of a block; `x` is where it stands at the plane's first element. `width` copies are made of a value that stands still along the row.
template<class T>
piece<T> fetch(block_plan const& plan, std::size_t k, block const& b, T const* x, extent width, std::array<T, block_elements>& copy) {
  extent const down = plan.row_stride[k], step = plan.column_stride[k];
  T const* from = x + b.row * down + b.column * step;
  if (plan.how[k] == access::direct) return {from, down, -1};

  bool const filled = down == 0 && b.row > 0 && (step == 0 || plan.block_columns == plan.columns);  // by an earlier block of this plane
  if (plan.how[k] == access::one_value) {
    if (!filled)
      for (extent r = 0; r < (down == 0 ? 1 : b.rows); ++r) std::fill_n(copy.data() + r * width, width, from[r * down]);
    return {copy.data(), down == 0 ? 0 : width, 0};
  }
  if (!filled) for_each_element<T>(b, down, step, [&](extent to, extent at) { copy[static_cast<std::size_t>(to)] = from[at]; });
  return {copy.data(), b.columns, -1};
}

}  // namespace detail
}  // namespace kernel
}  // namespace meshtf::inline v0
