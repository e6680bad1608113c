// How the loops of a nest are cut into blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/stored_rows.hpp>
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

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
