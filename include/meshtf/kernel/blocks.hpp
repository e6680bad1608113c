// Blocks: the two innermost loops of a nest, cut into pieces in which every operand has rows of contiguous
// elements, by copying it into the cache where needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/narrow.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/transposed.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Where an operand is read across its rows, rows of its copy begin at multiples of this, so that they are
/// whole batches.
inline constexpr extent block_grain = 16;

/// With fewer rows or columns than this, reading across goes element by element.
inline constexpr extent small = 4;

/// How an operand is read: in place, as copies of the one value of a row, or from a copy of the block. The
/// result is never `one_value`.
enum class access : unsigned char { direct, one_value, copied };

/// An operand of a plan: its strides from row to row and from column to column.
struct operand_plan {
  extent down;
  extent step;
  access mode;
};

/// The two loops from which a kernel's blocks are cut, and how they are cut. Computed once for each nest.
struct block_plan {
  // the numbers of the loops in the nest, -1 if it lacks them; `across` runs from row to row
  int across = -1;
  int along  = -1;
  extent width;  // lanes of a batch
  // iterations of the two loops
  extent rows          = 1;
  extent columns       = 1;
  extent block_rows    = 1;
  extent block_columns = 1;
  extent pitch         = 0;  // stride of a copy from row to row
  // columns processed in all rows before the next ones: where an operand is read across, this keeps few pages
  // open
  extent strip = 1;
  std::array<operand_plan, max_operands> operand;  // one for each operand of the nest
};

/// Chooses the loops to cut: the innermost two, with three exceptions. (a) If an operand is contiguous along
/// another loop, that loop is taken, so that whole cache lines are used, unless it is so short that one block
/// contains many lines anyway. (b) If both loops are tiny, the longest loop replaces one of them. (c) A tiny
/// loop that reduces becomes the loop across, so that whole rows are joined.
constexpr void choose_loops(nest_steps const& nest, block_plan& plan) {
  auto const size   = [&](int loop) { return nest.size[static_cast<std::size_t>(loop)]; };
  auto const stride = [&](int k, int loop) {
    return nest.stride[static_cast<std::size_t>(k)][static_cast<std::size_t>(loop)];
  };

  plan.along       = nest.rank - 1;
  plan.across      = nest.rank > 1 ? nest.rank - 2 : -1;
  int const result = nest.operands - 1;
  if (nest.rank > 1 && size(plan.along) <= small && stride(result, plan.along) == 0 &&
      stride(result, plan.across) == 1) {
    std::swap(plan.along, plan.across);
    return;
  }
  if (nest.rank < 3) return;
  for (int k = 0; k < nest.operands; ++k)
    if (stride(k, plan.along) > 1)
      for (int i = 0; i < nest.rank; ++i)
        if (stride(k, i) == 1 && size(i) > small) {
          plan.across = i;
          return;
        }
  // what is in the cache may be read again
  if (size(plan.along) * size(plan.across) < (nest.iterations < 32 * block_elements ? 128 : 64))
    for (int i = 0; i < nest.rank; ++i)
      if (i != plan.along && size(i) > size(plan.across)) plan.across = i;
}

/// `width`: lanes of a batch. `batches`: the functor takes them. `buffered`: the functor's results are kept
/// for a block before they are used. `narrow_ones`: a bit for each operand whose elements are narrow, so that
/// rows are never read or written in place.
[[gnu::noinline]] inline block_plan plan_blocks(nest_steps const& nest, extent width, bool batches,
                                                bool buffered, unsigned narrow_ones = 0) {
  block_plan plan;
  plan.width = width;
  choose_loops(nest, plan);
  auto const result = static_cast<std::size_t>(nest.operands - 1);
  if (plan.across >= 0) plan.rows = nest.size[static_cast<std::size_t>(plan.across)];
  if (plan.along >= 0) plan.columns = nest.size[static_cast<std::size_t>(plan.along)];

  bool copies    = buffered;
  bool one_a_row = false;
  bool crossed   = false;
  for (std::size_t k = 0; k <= result; ++k) {
    operand_plan& x = plan.operand[k];
    x.down          = plan.across < 0 ? 0 : nest.stride[k][static_cast<std::size_t>(plan.across)];
    x.step          = plan.along < 0 ? 1 : nest.stride[k][static_cast<std::size_t>(plan.along)];
    x.mode          = access::direct;
    if ((x.step == 1 && (narrow_ones >> k & 1) == 0) || (k == result && x.step == 0)) continue;
    if (k < result && batches && x.step == 0) {
      x.mode = access::one_value;
      one_a_row |= x.down != 0;
    } else {
      x.mode = access::copied;
      copies = true;
      crossed |= x.down != 0 && x.down < x.step;
    }
  }

  plan.block_rows    = plan.rows;
  plan.block_columns = plan.columns;
  if (copies) {
    // if an operand is read across, take as many rows as fill its cache lines
    extent const high  = crossed ? std::min(plan.rows, 2 * block_grain) : 1;
    plan.block_columns = std::min(plan.columns, block_elements / high / block_grain * block_grain);
    plan.pitch =
        crossed ? (plan.block_columns + block_grain - 1) / block_grain * block_grain : plan.block_columns;
    plan.block_rows = std::min(plan.rows, block_elements / plan.pitch);
  }
  if (!nest.reduces && plan.columns <= (batches ? 2 : 8) * block_grain &&
      plan.rows * plan.columns >= 4 * block_elements) {
    // short rows become one long row if the operands that they share are copied for each of them
    bool joined = true;
    for (std::size_t k = 0; k <= result; ++k) {
      operand_plan const& x = plan.operand[k];
      joined &= x.step == 1 ? x.down == plan.columns || (x.down == 0 && k < result)
                            : x.step == 0 && (x.mode == access::copied || plan.columns <= width);
    }
    if (joined) {
      for (std::size_t k = 0; k < result; ++k)
        if (plan.operand[k].down == 0) plan.operand[k].mode = access::copied;
      plan.pitch = plan.block_columns = plan.columns;
      plan.block_rows                 = block_elements / plan.columns;
    }
  }
  if (one_a_row)
    plan.block_rows = std::min(plan.block_rows, 1 + (block_elements - width) / std::min(width, plan.columns));
  plan.strip = crossed ? 4 * plan.block_columns : plan.columns;
  return plan;
}

/// A piece of the two loops.
struct block {
  // where it begins
  extent row;
  extent column;
  extent rows;
  extent columns;
};

template<class Body>
[[gnu::always_inline]] inline void for_each_block(block_plan const& plan, Body const& body) {
  for (extent strip = 0; strip < plan.columns; strip += plan.strip)
    for (extent r = 0; r < plan.rows; r += plan.block_rows)
      for (extent c = strip; c < std::min(strip + plan.strip, plan.columns); c += plan.block_columns)
        body(block{r, c, std::min(plan.block_rows, plan.rows - r),
                   std::min(plan.block_columns, plan.columns - c)});
}

/// The offset of each operand of a nest.
using offsets = std::array<extent, max_operands>;

/// The iterations of the loops that are not in the plan. Not `for_each_index`, whose loop would be compiled
/// again for each functor: this one is asked for the next iteration, and knows whether the result was there
/// before.
class planes {
public:
  planes(nest_steps const& nest, block_plan const& plan) : nest_{nest} {
    for (int i = 0; i < nest.rank; ++i)
      if (i != plan.across && i != plan.along) {
        iteration_[count_] = 0;
        sizes_[count_]     = nest.size[i];
        loops_[count_++]   = static_cast<std::size_t>(i);
      }
  }

  /// The offset of each operand at the present iteration.
  offsets const& at() const { return at_; }
  /// Whether the result was visited before.
  bool again() const { return repeated_ > 0; }

  bool next() { return count_ != 0 && turn(); }

private:
  [[gnu::noinline]] bool turn() {
    auto const result = static_cast<std::size_t>(nest_.operands - 1);
    return count_up(count_, iteration_, sizes_, [&](std::size_t i, extent shift) {
      std::size_t const loop = loops_[i];
      for (std::size_t k = 0; k < max_operands; ++k) at_[k] += nest_.stride[k][loop] * shift;
      if (nest_.stride[result][loop] == 0) repeated_ += shift;
    });
  }

  nest_steps const& nest_;
  std::array<std::size_t, max_rank> loops_;  // the first `count_` are used
  std::array<extent, max_rank> iteration_;
  std::array<extent, max_rank> sizes_;
  offsets at_{};
  std::size_t count_ = 0;
  extent repeated_   = 0;  // iterations of the loops along which the result stands still
};

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
