// Blocks: the two innermost loops of a nest cut into pieces in which every operand is rows of contiguous elements, if need be by copying it into the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/kernel/transposed.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf::inline v0 {
namespace kernel {
namespace detail {

/// What an operand's copy of a block holds at most, in elements; the copies of all operands stay in the first-level cache.
inline constexpr extent block_elements = 1024;

/// Rows of a copy of what is read across begin at multiples of this, so that they are whole batches.
inline constexpr extent block_grain = 16;

/// Where fewer rows or columns than this are read across, that is done an element at a time.
inline constexpr extent few = 4;

/// How an operand is read: where it lies, as copies of the one value of a row, or from a copy of the block. The result is never `one_value`.
enum class access : unsigned char { direct, one_value, copied };

/// The two loops that a kernel's blocks are cut from, and how. Decided once a nest.
struct block_plan {
  int across  = -1;  // the loops' numbers in the nest, -1 if it has so few; rows follow each other across
  int along   = -1;
  extent rows = 1, columns = 1;  // turns of the two loops
  extent block_rows = 1, block_columns = 1;
  extent pitch = 0;  // from row to row of a copy
  extent strip = 1;  // columns that are done in all rows before the next: where an operand is read across, so that few pages are open
  std::array<access, max_operands> how{};
  std::array<extent, max_operands> row_stride{}, column_stride{};
};

/// The loops to cut: the innermost two, but (a) where an operand is read across its rows, the loop along them is taken too, so that whole cache lines are
/// used, unless it is so short that many lines lie in one block anyway, (b) where both are tiny, one gives way to the longest, (c) a tiny loop that joins goes
/// across, so that whole rows are joined.
constexpr void choose_loops(nest_steps const& nest, block_plan& plan) {
  auto const size   = [&](int loop) { return nest.size[static_cast<std::size_t>(loop)]; };
  auto const stride = [&](int k, int loop) { return nest.stride[static_cast<std::size_t>(k)][static_cast<std::size_t>(loop)]; };

  plan.along       = nest.rank - 1;
  plan.across      = nest.rank > 1 ? nest.rank - 2 : -1;
  int const result = nest.operands - 1;
  if (nest.rank > 1 && size(plan.along) <= few && stride(result, plan.along) == 0 && stride(result, plan.across) == 1) {
    std::swap(plan.along, plan.across);
    return;
  }
  if (nest.rank < 3) return;
  for (int k = 0; k < nest.operands; ++k)
    if (stride(k, plan.along) > 1)
      for (int i = 0; i < nest.rank; ++i)
        if (stride(k, i) == 1 && size(i) > few) {
          plan.across = i;
          return;
        }
  if (size(plan.along) * size(plan.across) < (nest.turns < 32 * block_elements ? 128 : 64))  // what is in the cache may be read again
    for (int i = 0; i < nest.rank; ++i)
      if (i != plan.along && size(i) > size(plan.across)) plan.across = i;
}

/// `width`: lanes of a batch. `batches`: the functor takes them. `buffered`: what the functor gives is kept for a block before it is used.
constexpr block_plan plan_blocks(nest_steps const& nest, extent width, bool batches, bool buffered) {
  block_plan plan;
  choose_loops(nest, plan);
  auto const result = static_cast<std::size_t>(nest.operands - 1);
  if (plan.across >= 0) plan.rows = nest.size[static_cast<std::size_t>(plan.across)];
  if (plan.along >= 0) plan.columns = nest.size[static_cast<std::size_t>(plan.along)];

  bool copies = buffered, one_a_row = false, crossed = false;
  for (std::size_t k = 0; k <= result; ++k) {
    extent const down  = plan.across < 0 ? 0 : nest.stride[k][static_cast<std::size_t>(plan.across)];
    extent const step  = plan.along < 0 ? 1 : nest.stride[k][static_cast<std::size_t>(plan.along)];
    plan.row_stride[k] = down, plan.column_stride[k] = step;
    if (step == 1 || (k == result && step == 0)) continue;
    if (k < result && batches && step == 0) {
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
  if (copies) {
    // where something is read across, as many rows as fill its cache lines
    extent const high  = crossed ? std::min(plan.rows, 2 * block_grain) : 1;
    plan.block_columns = std::min(plan.columns, block_elements / high / block_grain * block_grain);
    plan.pitch         = crossed ? (plan.block_columns + block_grain - 1) / block_grain * block_grain : plan.block_columns;
    plan.block_rows    = std::min(plan.rows, block_elements / plan.pitch);
  }
  if (!nest.reduces && plan.columns <= (batches ? 2 : 8) * block_grain && plan.rows * plan.columns >= 4 * block_elements) {
    // short rows are one long row, if what they share is copied for each of them
    bool joined = true;
    for (std::size_t k = 0; k <= result; ++k) {
      extent const down = plan.row_stride[k], step = plan.column_stride[k];
      joined &= step == 1 ? down == plan.columns || (down == 0 && k < result) : step == 0 && (plan.how[k] == access::copied || plan.columns <= width);
    }
    if (joined) {
      for (std::size_t k = 0; k < result; ++k)
        if (plan.row_stride[k] == 0) plan.how[k] = access::copied;
      plan.pitch = plan.block_columns = plan.columns;
      plan.block_rows                 = block_elements / plan.columns;
    }
  }
  if (one_a_row) plan.block_rows = std::min(plan.block_rows, 1 + (block_elements - width) / std::min(width, plan.columns));
  plan.strip = crossed ? 4 * plan.block_columns : plan.columns;
  return plan;
}

/// A piece of the two loops.
struct block {
  extent row, column;  // where it begins
  extent rows, columns;
};

template<class Body>
void for_each_block(block_plan const& plan, Body const& body) {
  for (extent strip = 0; strip < plan.columns; strip += plan.strip)
    for (extent r = 0; r < plan.rows; r += plan.block_rows)
      for (extent c = strip; c < std::min(strip + plan.strip, plan.columns); c += plan.block_columns)
        body(block{r, c, std::min(plan.block_rows, plan.rows - r), std::min(plan.block_columns, plan.columns - c)});
}

/// Where each operand of a nest stands.
using offsets = std::array<extent, max_operands>;

/// The turns of the loops that are not in the plan.
class planes {
public:
  planes(nest_steps const& nest, block_plan const& plan) : nest_{nest} {
    for (int i = 0; i < nest.rank; ++i)
      if (i != plan.across && i != plan.along) loops_[count_++] = static_cast<std::size_t>(i);
  }

  /// Where each operand stands.
  offsets const& at() const { return at_; }
  /// The result was there before.
  bool again() const { return repeated_ > 0; }

  bool next() { return count_ != 0 && turn(); }

private:
  [[gnu::noinline]] bool turn() {
    auto const operands = static_cast<std::size_t>(nest_.operands);
    for (std::size_t i = count_; i-- > 0;) {
      std::size_t const loop = loops_[i];
      bool const still       = nest_.stride[operands - 1][loop] == 0;
      for (std::size_t k = 0; k < operands; ++k) at_[k] += nest_.stride[k][loop];
      if (++turns_[i] < nest_.size[loop]) {
        if (still && turns_[i] == 1) ++repeated_;
        return true;
      }
      for (std::size_t k = 0; k < operands; ++k) at_[k] -= nest_.stride[k][loop] * nest_.size[loop];
      turns_[i] = 0;
      if (still) --repeated_;
    }
    return false;
  }

  nest_steps const& nest_;
  std::array<std::size_t, max_rank> loops_{};
  std::array<extent, max_rank> turns_{};
  offsets at_{};
  std::size_t count_ = 0;
  int repeated_      = 0;
};

/// Room for a block.
template<class T>
struct block_buffer {
  block_buffer() {}  // of no particular values
  alignas(64) std::array<T, block_elements> element;
};

/// Calls `each(i, at)` for the i-th element of a copied block and where it lies in strided memory, in the order of that memory.
template<class Each>
void for_each_element(block const& b, extent pitch, extent row_stride, extent column_stride, Each const& each) {
  if (row_stride < column_stride && b.rows > few) {
    for (extent c = 0; c < b.columns; ++c) {
#pragma GCC unroll 4
      for (extent r = 0; r < b.rows; ++r) each(r * pitch + c, r * row_stride + c * column_stride);
    }
  } else {
    for (extent r = 0; r < b.rows; ++r) {
#pragma GCC unroll 4
      for (extent c = 0; c < b.columns; ++c) each(r * pitch + c, r * row_stride + c * column_stride);
    }
  }
}

/// Whether a block that is read across is worth squares in registers, which cost as much if they are not full.
template<class Lanes>
constexpr bool in_squares(block const& b) {
  return b.rows > few && b.columns > few && b.rows * b.columns > Lanes::width * Lanes::width / 2;
}

/// An operand within a block: its first row, from row to row, and whether it moves along the row (all bits) or stands still (none).
template<class T>
struct piece {
  T const* at;
  extent row;
  extent moves;
};

/// Operand `k` of a block; `x` is where it stands at the plane's first element. A batch of copies is made of a value that stands still along the row, or as many
/// as the row has elements.
template<class Arch, class T>
[[gnu::noinline]] piece<T> fetch_copy(block_plan const& plan, std::size_t k, block const& b, T const* x, block_buffer<T>& copy) {
  using lanes            = kernel::lanes<T, Arch>;
  constexpr extent width = lanes::width;
  extent const down = plan.row_stride[k], step = plan.column_stride[k];
  T const* const from = x + b.row * down + b.column * step;
  T* const to         = copy.element.data();

  bool const filled = down == 0 && b.row > 0 && (step == 0 || plan.block_columns == plan.columns);  // by an earlier block of this plane
  if (plan.how[k] == access::one_value) {
    extent const many = std::min(width, plan.columns);
    if (!filled)
      for (extent r = 0; r < (down == 0 ? 1 : b.rows); ++r) lanes::store(typename lanes::batch(from[r * down]), to + r * many);
    return {to, down == 0 ? 0 : many, plan.columns <= width ? -1 : 0};
  }
  if (!filled) {
    if (down == 1 && in_squares<lanes>(b)) copy_transposed<lanes>(b.columns, b.rows, from, step, to, plan.pitch);
    else if (step == 0)
      for (extent r = 0; r < b.rows; ++r) std::fill_n(to + r * plan.pitch, b.columns, from[r * down]);
    else if (down == 0 && step == 1 && plan.pitch == b.columns) {  // the same row again and again
      std::copy_n(from, b.columns, to);
      for (extent done = b.columns, all = b.rows * b.columns; done < all; done *= 2) std::copy_n(to, std::min(done, all - done), to + done);
    } else for_each_element(b, plan.pitch, down, step, [&](extent i, extent at) { to[i] = from[at]; });
  }
  return {to, plan.pitch, -1};
}

template<class Arch, class T>
piece<T> fetch(block_plan const& plan, std::size_t k, block const& b, offsets const& at, T const* x, block_buffer<T>& copy) {
  if (plan.how[k] != access::direct) return fetch_copy<Arch>(plan, k, b, x + at[k], copy);
  return {x + at[k] + b.row * plan.row_stride[k] + b.column * plan.column_stride[k], plan.row_stride[k], -1};
}

/// A copy of a block goes to strided memory.
template<class Arch, class T>
[[gnu::noinline]] void store_copy(block const& b, extent pitch, T const* copy, T* z, extent row_stride, extent column_stride) {
  if (row_stride == 1 && in_squares<kernel::lanes<T, Arch>>(b))
    copy_transposed<kernel::lanes<T, Arch>>(b.rows, b.columns, copy, pitch, z, column_stride);
  else for_each_element(b, pitch, row_stride, column_stride, [&](extent i, extent at) { z[at] = copy[i]; });
}

}  // namespace detail
}  // namespace kernel
}  // namespace meshtf::inline v0
