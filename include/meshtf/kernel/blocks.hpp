// Blocks: the two innermost loops of a nest, cut into pieces in which every operand has rows of contiguous
// elements, by copying it into the cache where needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/kernel/block_plan.hpp>
#include <meshtf/kernel/narrow.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/transposed.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// The largest element type.
using largest_element = double;

/// Memory for a block.
template<class T>
struct block_buffer {
  block_buffer() {}  // leaves the elements uninitialised
  alignas(64) std::array<T, block_elements> element;
};

/// Calls `each(i, at)` for each element of a block, in the order of strided memory: `i` is its index in the
/// copy, `at` its offset in memory.
template<class Each>
void for_each_element(block const& b, extent pitch, extent row_stride, extent column_stride,
                      Each const& each) {
  if (row_stride < column_stride && b.rows > small) {
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

/// Whether to transpose a block in squares of registers, which cost as much when they are not full.
template<class Lanes>
constexpr bool in_squares(block const& b) {
  return b.rows > small && b.columns > small && b.rows * b.columns > Lanes::width * Lanes::width / 2;
}

/// Writes each of `rows` values `repeated` times, to be read as a batch. It stores whole batches, also where
/// `repeated` is less.
template<class Arch, class T>
[[gnu::noinline]] void repeat_values(extent rows, void const* first, extent down, void* copy,
                                     extent repeated) {
  using lanes   = kernel::lanes<computed<T>, Arch>;
  T const* from = static_cast<T const*>(first);
  auto* to      = static_cast<computed<T>*>(copy);
#pragma GCC unroll 1
  for (extent r = 0; r < rows; ++r, from += down, to += repeated)
    lanes::store(typename lanes::batch(static_cast<computed<T>>(*from)), to);
}

/// Copies the elements of a block, row by row.
template<class Arch, class T>
[[gnu::noinline]] void copy_block(block const& b, void const* first, extent down, extent step, void* copy,
                                  extent pitch) {
  static_assert(sizeof(T) <= sizeof(largest_element));
  using lanes   = kernel::lanes<T, Arch>;
  T const* from = static_cast<T const*>(first);
  T* const to   = static_cast<T*>(copy);
  if (down == 1 && in_squares<lanes>(b)) copy_transposed<lanes>(b.columns, b.rows, from, step, to, pitch);
  else if (step == 0)
    for (extent r = 0; r < b.rows; ++r) std::fill_n(to + r * pitch, b.columns, from[r * down]);
  else if (down == 0 && step == 1 && pitch == b.columns) {  // all rows are the same
    std::copy_n(from, b.columns, to);
    for (extent done = b.columns, all = b.rows * b.columns; done < all; done *= 2)
      std::copy_n(to, std::min(done, all - done), to + done);
  } else for_each_element(b, pitch, down, step, [&](extent i, extent position) { to[i] = from[position]; });
}

/// The same for narrow elements: the copy is widened.
template<class Arch, NarrowElement T>
[[gnu::noinline]] void copy_block_widened(block const& b, void const* first, extent down, extent step,
                                          void* copy, extent pitch) {
  using wide     = computed<T>;
  T const* from  = static_cast<T const*>(first);
  wide* const to = static_cast<wide*>(copy);
  if (step == 1 && down == b.columns && pitch == b.columns) widen(b.rows * b.columns, from, to);
  else if (step == 1)
    for (extent r = 0; r < b.rows; ++r) widen(b.columns, from + r * down, to + r * pitch);
  else if (step == 0)
    for (extent r = 0; r < b.rows; ++r)
      std::fill_n(to + r * pitch, b.columns, static_cast<wide>(from[r * down]));
  else
    for_each_element(b, pitch, down, step,
                     [&](extent i, extent position) { to[i] = static_cast<wide>(from[position]); });
}

/// An operand as the loops around the rows see it: only the functions that copy it know its element type.
struct operand {
  struct type {
    extent size;  // of an element, in bytes
    bool widens;  // a copy has wider elements
    void (*repeat)(extent rows, void const* first, extent down, void* copy, extent repeated);
    void (*copy)(block const&, void const* first, extent down, extent step, void* copy, extent pitch);
  };
  void const* start;
  type const* data;
};

template<class Arch, class T>
inline constexpr operand::type operand_of{sizeof(T), false, repeat_values<Arch, T>, copy_block<Arch, T>};
template<class Arch, NarrowElement T>
inline constexpr operand::type operand_of<Arch, T>{sizeof(T), true, repeat_values<Arch, T>,
                                                   copy_block_widened<Arch, T>};

/// The operands of a nest within a block, except the result. `Narrow`: some may have narrow elements.
template<bool Narrow>
class block_operands {
public:
  block_operands(operand const* x, std::size_t count) : x_{x}, count_{count} {}

  /// `at`: the offsets at the plane's first element. What an earlier block of the plane has copied is not
  /// copied again.
  [[gnu::always_inline]] void fetch(block_plan const& plan, block const& b, offsets const& offset) {
    for (std::size_t k = 0; k < count_; ++k) {
      auto const& [down, step, mode] = plan.operand[k];
      auto const* const first        = static_cast<std::byte const*>(x_[k].start) +
                                (offset[k] + b.row * down + b.column * step) * x_[k].data->size;
      bool const copied = down == 0 && b.row > 0 && (step == 0 || plan.block_columns == plan.columns);
      if (mode == access::direct) now_[k] = {first, down, -1};
      else if (mode == access::one_value)
        repeat(k, first, copied ? 0 : b.rows, down, plan.columns, plan.width);
      else copy(k, first, copied ? block{} : b, down, step, plan.pitch);
    }
  }
  /// A nest of at most two loops, with a contiguous result and with long rows or few iterations, is one block
  /// and needs no plan; false for other nests.
  bool fetch_whole(nest_steps const& nest, extent width, bool batches, bool buffered, block& b) {
    if (nest.rank > 2 || nest.rank < 1) return false;
    auto const along = static_cast<std::size_t>(nest.rank - 1);
    b                = {0, 0, along > 0 ? nest.size[0] : 1, nest.size[along]};
    if (nest.stride[count_][along] > 1 ||
        (nest.iterations > block_elements && (buffered || b.columns <= 8 * block_grain)))
      return false;
    for (std::size_t k = 0; k < count_; ++k) {
      extent const down = nest.stride[k][0];
      extent const step = nest.stride[k][along];
      if (step == 1 && !widens(k)) {
        now_[k] = {x_[k].start, down, -1};
      } else if (step == 0 && batches) {
        if (down != 0 && b.rows > block_elements / width) return false;
        repeat(k, x_[k].start, b.rows, down, b.columns, width);
      } else {
        extent const pitch =
            down < step ? (b.columns + block_grain - 1) / block_grain * block_grain : b.columns;
        if (b.rows * pitch > block_elements) return false;
        copy(k, x_[k].start, b, down, step, pitch);
      }
    }
    return true;
  }
  piece const* pieces() const { return now_.data(); }
  /// Whether rows of `n` elements are contiguous, one after the other, in all operands.
  bool in_one_row(extent n) const {
    for (std::size_t k = 0; k < count_; ++k)
      if (now_[k].row != n || now_[k].moves == 0) return false;
    return true;
  }

  /// A bit for each narrow operand.
  unsigned narrow_ones() const {
    unsigned ones = 0;
    for (std::size_t k = 0; k < count_; ++k) ones |= widens(k) ? 1U << k : 0U;
    return ones;
  }

private:
  bool widens(std::size_t k) const {
    if constexpr (Narrow) return x_[k].data->widens;
    else return false;
  }

  /// Repeats a value that does not move along the row: as often as a batch has lanes, or the row elements if
  /// those are fewer.
  void repeat(std::size_t k, void const* first, extent rows, extent down, extent columns, extent width) {
    extent const repeated = std::min(width, columns);
    void* const to        = copies_[k].element.data();
    if (rows > 0) x_[k].data->repeat(down == 0 ? 1 : rows, first, down, to, repeated);
    now_[k] = {to, down == 0 ? 0 : repeated, columns <= width ? -1 : 0};
  }
  void copy(std::size_t k, void const* first, block const& b, extent down, extent step, extent pitch) {
    void* const to = copies_[k].element.data();
    if (b.rows > 0) x_[k].data->copy(b, first, down, step, to, pitch);
    now_[k] = {to, pitch, -1};
  }

  operand const* x_;
  std::size_t count_;
  std::array<piece, max_operands - 1> now_;
  std::array<block_buffer<largest_element>, max_operands - 1> copies_;  // of any element type
};

/// Rounds a copy of a block and stores it.
template<class Arch, NarrowElement T>
[[gnu::noinline]] void store_copy(block const& b, extent pitch, computed<T> const* copy, T* z,
                                  extent row_stride, extent column_stride) {
  if (column_stride == 1 && row_stride == b.columns && pitch == b.columns)
    narrow(b.rows * b.columns, copy, z);
  else if (column_stride == 1)
    for (extent r = 0; r < b.rows; ++r) narrow(b.columns, copy + r * pitch, z + r * row_stride);
  else
    for_each_element(b, pitch, row_stride, column_stride,
                     [&](extent i, extent position) { z[position] = static_cast<T>(copy[i]); });
}

/// Copies a copy of a block to strided memory.
template<class Arch, class T>
[[gnu::noinline]] void store_copy(block const& b, extent pitch, T const* copy, T* z, extent row_stride,
                                  extent column_stride) {
  if (row_stride == 1 && in_squares<kernel::lanes<T, Arch>>(b))
    copy_transposed<kernel::lanes<T, Arch>>(b.rows, b.columns, copy, pitch, z, column_stride);
  else
    for_each_element(b, pitch, row_stride, column_stride,
                     [&](extent i, extent position) { z[position] = copy[i]; });
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
