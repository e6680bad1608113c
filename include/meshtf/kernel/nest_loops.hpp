// The loops of a nest around its rows: compiled once for each element type and used by all functors, through
// one virtual call for each block.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/nest_parts.hpp>
#include <meshtf/kernel/rows.hpp>
#include <meshtf/kernel/stored_rows.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Joins the rows of a block to z. If they all go to one row, it takes as many at a time as stay in the
/// cache.
template<reduction Op, class Lanes, class Rows, class R>
[[gnu::always_inline]] inline void join_block(Rows const& rows, extent count, extent n, R* z, extent z_stride,
                                              bool fresh) {
  constexpr extent cached   = 1024;
  extent const some         = count * n <= 4 * cached ? count : 1 + 4 * std::max<extent>(1, cached / n);
  extent const rows_at_once = z_stride != 0 ? 1 : some;
  for (extent r = 0; r < count; r += rows_at_once)
    join_rows<Op, Lanes>(rows, r, std::min(r + rows_at_once, count), n, z + r * z_stride,
                         fresh && (z_stride != 0 || r == 0));
}

/// The rows of a function that takes batches.
template<class Arch, class F, class R, std::size_t N>
class batch_stored final : public stored_rows<R> {
  using lanes = kernel::lanes<R, Arch>;

public:
  explicit batch_stored(F const& f) : f_{f} {}

  void store(piece const* x, extent count, extent n, R* z, extent z_stride) const override {
    store_rows<lanes>(batch_rows<lanes, F, R, N>{f_, x}, count, n, z, z_stride);
  }

private:
  F const& f_;
};

template<class Arch, class F, class R, class... T>
using stored = std::conditional_t<in_batches<F, R, T...>, batch_stored<Arch, F, R, sizeof...(T)>,
                                  plain_rows<Arch, F, R, T...>>;

/// Where the rows of a block go, if each is joined to one element.
template<reduction Op, class R>
struct row_totals {
  R* z;
  extent down;  // stride of z from row to row; 0: all rows go to one element
  // whether the block is the first of its rows, or the last
  bool begins;
  bool ends;
  // z holds nothing yet; the rows span several consecutive blocks
  bool fresh;
  bool piecewise;
  total_of<Op, R> running{};

  /// `count` is at most the number of lanes of `values`.
  template<class Lanes>
  void add(extent begin, extent count, std::array<R, Lanes::width> const& values) {
    if (piecewise) return add_piece(begin, values[0]);
    bool const first = fresh && begins;
    if (first && down == 1) return store_first<Lanes>(Lanes::load(values.data()), z + begin, count);
    for (extent i = 0; i < count; ++i) {
      R const value = values[static_cast<std::size_t>(i)];
      R& sum        = z[(begin + i) * down];
      sum           = first && (down != 0 || begin + i == 0) ? value : join<Op>(sum, value);
    }
  }
  /// The sums of a row's blocks are added up like those of a long row.
  void add_piece(extent r, R value) {
    running = begins ? total_of<Op, R>{value} : join<Op>(running, total_of<Op, R>{value});
    if (!ends) return;
    value  = static_cast<R>(running);
    R& sum = z[r * down];
    sum    = fresh && (down != 0 || r == 0) ? value : join<Op>(sum, value);
  }
};

/// The same rows, reduced.
template<reduction Op, class R>
class joined_rows {
public:
  /// Joins each row to one element.
  virtual void fold(piece const* x, extent count, extent n, row_totals<Op, R>& to) const = 0;
  /// Joins the rows to z, which is a single row if `z_stride` is 0.
  virtual void join(piece const* x, extent count, extent n, R* z, extent z_stride, bool fresh) const = 0;

protected:
  ~joined_rows() = default;
};

template<reduction Op, class Arch, class F, class R, std::size_t N>
class joined final : public joined_rows<Op, R> {
  using lanes = kernel::lanes<R, Arch>;
  using rows  = batch_rows<lanes, F, R, N>;

public:
  explicit joined(F const& f) : f_{f} {}

  void fold(piece const* x, extent count, extent n, row_totals<Op, R>& to) const override {
    fold_rows<Op, lanes, R>(rows{f_, x}, count, n, to);
  }
  void join(piece const* x, extent count, extent n, R* z, extent z_stride, bool fresh) const override {
    join_block<Op, lanes>(rows{f_, x}, count, n, z, z_stride, fresh);
  }

private:
  F const& f_;
};

/// z = f of the block's rows. Rows that are contiguous in all operands are treated as one row.
template<class R, bool Narrow>
void store_block(stored_rows<R> const& rows, block_operands<Narrow> const& operands, block const& b, R* z,
                 extent z_stride) {
  bool const one = b.rows > 1 && z_stride == b.columns && operands.in_one_row(b.columns);
  rows.store(operands.pieces(), one ? 1 : b.rows, one ? b.rows * b.columns : b.columns, z, z_stride);
}

/// z = the rows of all blocks. `Narrow`: some operands, or the result, have narrow elements.
template<class Arch, bool Narrow, class R>
[[gnu::noinline]] void store_blocks(nest_steps const& steps, bool batches, operand const* x,
                                    stored_rows<computed<R>> const& rows, R* z) {
  using wide             = computed<R>;
  constexpr extent width = kernel::lanes<wide, Arch>::width;
  auto const result      = static_cast<std::size_t>(steps.operands - 1);
  block_operands<Narrow> operands{x, result};
  block_buffer<wide> values;
  if (block whole; operands.fetch_whole(steps, width, batches, NarrowElement<R>, whole)) {
    if constexpr (NarrowElement<R>) {
      store_block(rows, operands, whole, values.element.data(), whole.columns);
      return store_copy<Arch>(whole, whole.columns, values.element.data(), z, steps.stride[result][0],
                              extent{1});
    } else {
      return store_block(rows, operands, whole, z, steps.stride[result][0]);
    }
  }

  auto const plan   = plan_blocks(steps, width, batches, false,
                                  operands.narrow_ones() | (NarrowElement<R> ? 1U << result : 0U));
  extent const down = plan.operand[result].down;
  extent const step = plan.operand[result].step;
  access const mode = plan.operand[result].mode;

  planes plane{steps, plan};
  do {
    for_each_block(plan, [&](block const& b) __attribute__((always_inline)) {
      R* const to = z + plane.at()[result] + b.row * down + b.column * step;
      operands.fetch(plan, b, plane.at());
      if constexpr (!NarrowElement<R>)
        if (mode == access::direct) return store_block(rows, operands, b, to, down);
      store_block(rows, operands, b, values.element.data(), plan.pitch);
      store_copy<Arch>(b, plan.pitch, values.element.data(), to, down, step);
    });
  } while (plane.next());
}

/// z = the rows of all blocks, reduced over the loops in which z does not move; with `accumulate`, joined to
/// what z holds. Where `f` does not take batches, its results are stored first, and `joined` reduces those.
/// `Narrow`: some operands have narrow elements; the result never has.
template<reduction Op, class Arch, bool Narrow, class R>
[[gnu::noinline]] void join_blocks(nest_steps const& steps, bool batches, bool accumulate, operand const* x,
                                   stored_rows<R> const& rows, joined_rows<Op, R> const& joined, R* z) {
  if (!steps.reduces && !accumulate) return store_blocks<Arch, Narrow>(steps, batches, x, rows, z);
  constexpr extent width = kernel::lanes<R, Arch>::width;
  auto const result      = static_cast<std::size_t>(steps.operands - 1);
  block_operands<Narrow> operands{x, result};
  block_buffer<R> values;
  piece kept{values.element.data(), 0, -1};
  auto const pieces_of = [&](block const& b) {
    if (batches) return operands.pieces();
    store_block(rows, operands, b, values.element.data(), kept.row = b.columns);
    return static_cast<piece const*>(&kept);
  };
  row_totals<Op, R> totals{
      .z = z, .down = 0, .begins = true, .ends = true, .fresh = !accumulate, .piecewise = false};

  if (block b; operands.fetch_whole(steps, width, batches, !batches, b)) {
    totals.down = b.rows > 1 ? steps.stride[result][0] : 0;
    if (steps.stride[result][static_cast<std::size_t>(steps.rank - 1)] == 0)
      joined.fold(pieces_of(b), b.rows, b.columns, totals);
    else joined.join(pieces_of(b), b.rows, b.columns, z, totals.down, totals.fresh);
    return;
  }

  auto const plan   = plan_blocks(steps, width, batches, !batches, operands.narrow_ones());
  extent const down = plan.operand[result].down;
  extent const step = plan.operand[result].step;
  access const mode = plan.operand[result].mode;
  totals.down       = down;
  totals.piecewise  = plan.columns > plan.block_columns && plan.strip == plan.columns && plan.block_rows == 1;

  planes plane{steps, plan};
  do {
    bool const begun = accumulate || plane.again();
    for_each_block(plan, [&](block const& b) __attribute__((always_inline)) {
      R* const to      = z + plane.at()[result] + b.row * down + b.column * step;
      bool const fresh = !begun && (down != 0 || b.row == 0);
      operands.fetch(plan, b, plane.at());
      if (mode == access::copied) {
        store_block(rows, operands, b, values.element.data(), plan.pitch);
        for_each_element(b, plan.pitch, down, step, [&](extent from, extent i) {
          R const value    = values.element[static_cast<std::size_t>(from)];
          bool const first = fresh && (down != 0 || from < b.columns);
          to[i]            = first ? value : join<Op>(to[i], value);
        });
      } else if (step == 0) {
        totals.z      = to;
        totals.begins = b.column == 0;
        totals.ends   = b.column + b.columns == plan.columns;
        totals.fresh  = fresh;
        joined.fold(pieces_of(b), b.rows, b.columns, totals);
      } else {
        joined.join(pieces_of(b), b.rows, b.columns, to, down, fresh);
      }
    });
  } while (plane.next());
}

/// `store_blocks` on all threads. An element's bits do not depend on the part that it is in.
template<class Arch, bool Narrow, class R>
[[gnu::noinline]] void store_parts(nest_steps const& steps, bool batches, operand const* x,
                                   stored_rows<computed<R>> const& rows, R* z) {
  nest_division const division = division_of(steps);
  if (division.parts == 1) return store_blocks<Arch, Narrow>(steps, batches, x, rows, z);
  parallel_parts(division.parts, [&](extent number, int) {
    auto const part = part_of(steps, division, number);
    store_blocks<Arch, Narrow>(part.steps, batches, moved(x, part).data(), rows,
                               z + part.offset[static_cast<std::size_t>(steps.operands - 1)]);
  });
}

/// `join_blocks` on all threads. The parts are the same whatever the number of threads, since the bits of a
/// sum depend on its parts.
template<reduction Op, class Arch, bool Narrow, class R>
[[gnu::noinline]] void join_parts(nest_steps const& steps, bool batches, bool accumulate, operand const* x,
                                  stored_rows<R> const& rows, joined_rows<Op, R> const& joined, R* z) {
  nest_division const division = division_of(steps);
  if (division.parts == 1)
    return join_blocks<Op, Arch, Narrow>(steps, batches, accumulate, x, rows, joined, z);
  auto const result = static_cast<std::size_t>(steps.operands - 1);
  if (!division.joins)
    return parallel_parts(division.parts, [&](extent number, int) {
      auto const part = part_of(steps, division, number);
      join_blocks<Op, Arch, Narrow>(part.steps, batches, accumulate, moved(x, part).data(), rows, joined,
                                    z + part.offset[result]);
    });

  std::array<R, partial_results> partial;
  extent const span = meshtf::detail::span_of(steps, result);
  parallel_parts(division.parts, [&](extent number, int) {
    auto const part = part_of(steps, division, number);
    join_blocks<Op, Arch, Narrow>(part.steps, batches, false, moved(x, part).data(), rows, joined,
                                  partial.data() + number * span);
  });
  small_array<extent, max_rank> size{};
  small_array<extent, max_rank> stride{};
  int rank = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps.rank); ++i)
    if (steps.stride[result][i] != 0) {
      size[rank]     = steps.size[i];
      stride[rank++] = steps.stride[result][i];
    }
  for_each_index<1>(size.first(rank), std::array{stride}, {}, [&](auto const& start) {
    auto total = total_of<Op, R>{partial[static_cast<std::size_t>(start[0])]};
    for (extent part = 1; part < division.parts; ++part)
      total = join<Op>(total, total_of<Op, R>{partial[static_cast<std::size_t>(part * span + start[0])]});
    z[start[0]] = accumulate ? join<Op>(z[start[0]], static_cast<R>(total)) : static_cast<R>(total);
  });
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
