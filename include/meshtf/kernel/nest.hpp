// Loop nests: one functor over several arrays at once, and the joining of what it gives over loops in which the result stands still.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/rows.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/collective.hpp>

namespace meshtf::inline v0 {
namespace kernel {

/// The functor of a copy.
struct unchanged {
  static constexpr bool vectorised = true;
  constexpr auto operator()(auto const& x) const { return x; }
};

namespace detail {

/// Whether `F` gets batches: it says so, and the elements are of one floating-point type.
template<class F, class R, class... T>
inline constexpr bool in_batches = Vectorised<F> && std::floating_point<R> && (std::same_as<T, R> && ...);

template<class F, class R, class... T>
void plain_loop(F const& f, extent n, R* z, T const*... x) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep   // z may be one of x, element for element
#endif
  for (extent i = 0; i < n; ++i) z[i] = static_cast<R>(f(x[i]...));
}

/// The operands of a nest block by block, whatever is done with them.
template<class Arch, class T, std::size_t N>
struct batch_operands {
  std::array<T const*, N> start;
  std::array<block_buffer<T>, N> copies;
  std::array<piece<T>, N> now;

  void fetch_all(block_plan const& plan, block const& b, offsets const& at) {
    for (std::size_t k = 0; k < N; ++k) now[k] = fetch<Arch>(plan, k, b, at, start[k], copies[k]);
  }
  /// Whether rows of `n` elements follow each other everywhere.
  bool in_one_row(extent n) const {
    return std::all_of(now.begin(), now.end(), [n](piece<T> const& p) { return p.row == n && p.moves != 0; });
  }
};

/// `f` of their rows, in batches.
template<class Arch, class F, class R, class... T>
struct source : batch_operands<Arch, R, sizeof...(T)> {
  static constexpr bool batches = true;
  using lanes                   = kernel::lanes<R, Arch>;

  F const& f;

  source(F const& functor, T const*... x) : f{functor} { this->start = {x...}; }

  batch_rows<lanes, F, R, sizeof...(T)> rows_in_batches() const { return {f, this->now}; }

  /// z = f of the block's rows, from row to row `z_stride` apart.
  void evaluate(block const& b, R* z, extent z_stride) const {
    extent count = b.rows, n = b.columns;
    if (z_stride == n && this->in_one_row(n)) n *= std::exchange(count, 1);
    store_rows<lanes>(rows_in_batches(), count, n, z, z_stride);
  }
};

/// The same of elements that make no batches.
template<class Arch, class F, class R, class... T>
  requires(!in_batches<F, R, T...>)
struct source<Arch, F, R, T...> {
  static constexpr bool batches = false;

  F const& f;
  std::tuple<T const*...> start;
  std::tuple<block_buffer<T>...> copies;
  std::tuple<piece<T>...> now;

  source(F const& functor, T const*... x) : f{functor}, start{x...} {}

  void fetch_all(block_plan const& plan, block const& b, offsets const& at) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((std::get<K>(now) = fetch<Arch>(plan, K, b, at, std::get<K>(start), std::get<K>(copies))), ...);
    }(std::index_sequence_for<T...>{});
  }

  /// Rows that follow each other everywhere are one.
  void evaluate(block const& b, R* z, extent z_stride) const {
    extent count = b.rows, n = b.columns;
    if (z_stride == n && std::apply([&](auto const&... p) { return ((p.row == n && p.moves != 0) && ...); }, now)) n *= std::exchange(count, 1);
    for (extent r = 0; r < count; ++r) std::apply([&](auto const&... p) { plain_loop(f, n, z + r * z_stride, (p.at + r * p.row)...); }, now);
  }
};

/// z joined with the rows of a block; where they join to one row, as many at a time as stay in the cache.
template<reduction Op, class Lanes, class Rows, class R>
void join_block(Rows const& rows, extent count, extent n, R* z, extent z_stride, bool fresh) {
  extent const many = z_stride != 0 ? 1 : 1 + 4 * std::max<extent>(1, 1024 / n);
  for (extent r = 0; r < count; r += many)
    join_rows<Op, Lanes>(rows, r, std::min(r + many, count), n, z + r * z_stride, fresh && (z_stride != 0 || r == 0));
}

/// All operands are contiguous, as they are in most elementwise operations: no blocks need be planned, which for a small tensor is most of the work.
constexpr bool is_one_row(nest_steps const& nest) {
  if (nest.rank == 0) return true;
  if (nest.rank > 1) return false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(nest.operands); ++k)
    if (nest.stride[k][0] != 1) return false;
  return true;
}

// ---- the loops around the rows: compiled once for an element type, whatever the functor is; a call for each block tells them apart

/// f of the rows of a block.
template<class R>
class stored_rows {
public:
  /// z = f of the rows, from row to row `z_stride` apart.
  virtual void store(block_plan const& plan, block const& b, offsets const& at, R* z, extent z_stride) = 0;

protected:
  ~stored_rows() = default;
};

/// Where the rows of a block that are joined to one element each go.
template<reduction Op, class R>
struct row_totals {
  R* z;
  extent down;             // from row to row of z; 0: all rows go to one element
  bool begins, ends;       // the block is the first of its rows, or the last
  bool fresh, piecewise;   // z holds nothing yet; the rows lie in several blocks that follow each other
  total_of<Op, R> running{};

  void add(extent begin, extent end, R const* values) {
    if (piecewise) return add_piece(begin, *values);
    for (extent r = begin; r < end; ++r) {
      R const value = values[r - begin];
      R& sum        = z[r * down];
      sum           = fresh && begins && (down != 0 || r == 0) ? value : join<Op>(sum, value);
    }
  }
  /// The sums of a row's blocks are added up as those of a long row are.
  void add_piece(extent r, R value) {
    running = begins ? total_of<Op, R>{value} : join<Op>(running, total_of<Op, R>{value});
    if (!ends) return;
    value  = static_cast<R>(running);
    R& sum = z[r * down];
    sum    = fresh && (down != 0 || r == 0) ? value : join<Op>(sum, value);
  }
};

/// The same rows, joined.
template<reduction Op, class R>
class joined_rows : public stored_rows<R> {
public:
  /// Each to one element.
  virtual void fold(block_plan const& plan, block const& b, offsets const& at, row_totals<Op, R>& to) = 0;
  /// To z, a row if `z_stride` is 0.
  virtual void join(block_plan const& plan, block const& b, offsets const& at, R* z, extent z_stride, bool fresh) = 0;

protected:
  ~joined_rows() = default;
};

template<class Arch, class F, class R, class... T>
class stored final : public stored_rows<R> {
public:
  stored(F const& f, T const*... x) : source_{f, x...} {}

  void store(block_plan const& plan, block const& b, offsets const& at, R* z, extent z_stride) override {
    source_.fetch_all(plan, b, at);
    source_.evaluate(b, z, z_stride);
  }

private:
  source<Arch, F, R, T...> source_;
};

template<reduction Op, class Arch, class F, class R, class... T>
class joined final : public joined_rows<Op, R> {
  using lanes = kernel::lanes<R, Arch>;

public:
  joined(F const& f, T const*... x) : source_{f, x...} {}

  void store(block_plan const& plan, block const& b, offsets const& at, R* z, extent z_stride) override {
    source_.fetch_all(plan, b, at);
    source_.evaluate(b, z, z_stride);
  }
  void fold(block_plan const& plan, block const& b, offsets const& at, row_totals<Op, R>& to) override {
    [[maybe_unused]] block_buffer<R> values;
    fold_rows<Op, lanes, R>(rows(plan, b, at, values), b.rows, b.columns, to);
  }
  void join(block_plan const& plan, block const& b, offsets const& at, R* z, extent z_stride, bool fresh) override {
    [[maybe_unused]] block_buffer<R> values;
    join_block<Op, lanes>(rows(plan, b, at, values), b.rows, b.columns, z, z_stride, fresh);
  }

private:
  /// What f gives for the rows of a block, as batches: at once, or out of `values`, which is the caller's own, so that the compiler knows that nothing else
  /// lies there.
  [[gnu::always_inline]] auto rows(block_plan const& plan, block const& b, offsets const& at, [[maybe_unused]] block_buffer<R>& values) {
    source_.fetch_all(plan, b, at);
    if constexpr (source<Arch, F, R, T...>::batches) {
      return source_.rows_in_batches();
    } else {
      source_.evaluate(b, values.element.data(), plan.pitch);
      return batch_rows<lanes, unchanged, R, 1>{{}, {{{values.element.data(), plan.pitch, -1}}}};
    }
  }

  source<Arch, F, R, T...> source_;
};

/// z = the rows of all blocks.
template<class Arch, class R>
[[gnu::noinline]] void store_blocks(nest_steps const& steps, bool batches, stored_rows<R>& rows, R* z) {
  auto const result = static_cast<std::size_t>(steps.operands - 1);
  auto const plan   = plan_blocks(steps, kernel::lanes<R, Arch>::width, batches, false);
  bool const copied = plan.how[result] == access::copied;
  extent const down = plan.row_stride[result], step = plan.column_stride[result];
  block_buffer<R> values;

  planes plane{steps, plan};
  do {
    for_each_block(plan, [&](block const& b) {
      R* const to = z + plane.at()[result] + b.row * down + b.column * step;
      rows.store(plan, b, plane.at(), copied ? values.element.data() : to, copied ? plan.pitch : down);
      if (copied) store_copy<Arch>(b, plan.pitch, values.element.data(), to, down, step);
    });
  } while (plane.next());
}

/// z = the rows of all blocks, joined over the loops in which z stands still, and with what z holds if it does not begin with them.
template<reduction Op, class Arch, class R>
[[gnu::noinline]] void join_blocks(nest_steps const& steps, bool batches, bool accumulate, joined_rows<Op, R>& rows, R* z) {
  auto const result = static_cast<std::size_t>(steps.operands - 1);
  auto const plan   = plan_blocks(steps, kernel::lanes<R, Arch>::width, batches, !batches);
  bool const copied = plan.how[result] == access::copied;
  extent const down = plan.row_stride[result], step = plan.column_stride[result];
  block_buffer<R> values;
  row_totals<Op, R> totals{.z         = nullptr,
                           .down      = down,
                           .begins    = true,
                           .ends      = true,
                           .fresh     = true,
                           .piecewise = plan.columns > plan.block_columns && plan.strip == plan.columns && plan.block_rows == 1};

  planes plane{steps, plan};
  do {
    bool const begun = accumulate || plane.again();
    for_each_block(plan, [&](block const& b) {
      R* const to      = z + plane.at()[result] + b.row * down + b.column * step;
      bool const fresh = !begun && (down != 0 || b.row == 0);
      if (copied) {
        rows.store(plan, b, plane.at(), values.element.data(), plan.pitch);
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
        rows.fold(plan, b, plane.at(), totals);
      } else {
        rows.join(plan, b, plane.at(), to, down, fresh);
      }
    });
  } while (plane.next());
}

}  // namespace detail

/// z[i] = f(x[i]...) for i < n, of contiguous arrays; z may be one of x.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_row(extent n, F const& f, R* z, T const*... x) {
  if constexpr (detail::in_batches<F, R, T...>) {
    using lanes = kernel::lanes<R, Arch>;
    extent i    = 0;
    for (; i + lanes::width <= n; i += lanes::width) lanes::store(f(lanes::load(x + i)...), z + i);
    if (i < n) detail::store_first<lanes>(f(detail::load_first<lanes>(x + i, n - i)...), z + i, n - i);
  } else {
    detail::plain_loop(f, n, z, x...);
  }
}

/// z[...] = f(x...) for each turn of a nest that does not reduce; its operands are x... and z, in this order. z may be one of x, if it has the same strides.
///
/// `F::vectorised` says that f takes batches (simd.hpp). It then gets them whatever the strides are, and an element's bits do not depend on its position.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  if (detail::is_one_row(steps)) return map_row<Arch>(steps.turns, f, z, x...);
  detail::stored<Arch, F, R, T...> rows{f, x...};
  detail::store_blocks<Arch, R>(steps, detail::in_batches<F, R, T...>, rows, z);
}

/// z = f(x...) joined by `Op` over the loops in which z stands still; with `Accumulate` joined to what z holds. Sums of floats stay accurate along rows of any
/// length. z may not overlap x.
template<reduction Op, bool Accumulate = false, class Arch = default_arch, class F, Element R, Element... T>
void reduce_nest(nest_steps const& steps, F const& f, R* z, T const*... x) {
  detail::joined<Op, Arch, F, R, T...> rows{f, x...};
  detail::join_blocks<Op, Arch, R>(steps, detail::in_batches<F, R, T...>, Accumulate, rows, z);
}

}  // namespace kernel
}  // namespace meshtf::inline v0
