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
namespace detail {

/// Whether `F` gets batches: it says so, and the elements are of one floating-point type.
template<class F, class R, class... T>
inline constexpr bool in_batches = Vectorised<F> && std::floating_point<R> && (std::same_as<T, R> && ...);

struct unchanged {
  static constexpr bool vectorised = true;
  constexpr auto operator()(auto const& x) const { return x; }
};

/// The operands of a nest block by block, and `f` of their rows.
template<class Arch, class F, class R, class... T>
struct walker {
  static constexpr bool batches = in_batches<F, R, T...>;
  using lanes                   = kernel::lanes<R, Arch>;

  F const& f;
  block_plan plan;
  std::tuple<T const*...> start;
  std::tuple<std::array<T, block_elements>...> copies;
  std::tuple<piece<T>...> now;

  walker(nest_steps const& nest, F const& functor, bool buffered, T const*... x)
      : f{functor}, plan{plan_blocks(nest, lanes::width, batches, buffered)}, start{x...} {}

  template<std::size_t... K>
  void fetch_all(block const& b, std::array<extent, max_operands> const& at, std::index_sequence<K...>) {
    ((std::get<K>(now) = fetch(plan, K, b, std::get<K>(start) + at[K], extent{lanes::width}, std::get<K>(copies))), ...);
  }
  void fetch_all(block const& b, std::array<extent, max_operands> const& at) { fetch_all(b, at, std::index_sequence_for<T...>{}); }

  /// The rows of the block. With batches only.
  auto rows() const {
    return std::apply([&](auto const&... p) { return batch_rows<lanes, F, R, sizeof...(T)>{f, {p...}}; }, now);
  }

  /// z = f of the block's rows, from row to row `z_stride` apart.
  void evaluate(block const& b, R* z, extent z_stride) const {
    extent const count = plan.joined ? 1 : b.rows, n = plan.joined ? b.rows * b.columns : b.columns;
    if constexpr (batches) {
      store_rows<lanes>(rows(), count, n, z, z_stride);
    } else {
      for (extent r = 0; r < count; ++r) std::apply([&](auto const&... p) { plain_loop(n, z + r * z_stride, (p.at + r * p.row)...); }, now);
    }
  }

  void plain_loop(extent n, R* z, T const*... x) const {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep   // z may be one of x, element for element
#endif
    for (extent i = 0; i < n; ++i) z[i] = static_cast<R>(f(x[i]...));
  }
};

/// z joined with the rows of a block; where they join to one row, as many at a time as stay in the cache.
template<reduction Op, class Lanes, class Rows, class R>
void join_block(Rows const& rows, extent count, extent n, R* z, extent z_stride, bool fresh) {
  if (z_stride != 0) {
    for (extent r = 0; r < count; ++r) join_rows<Op, Lanes>(rows, r, r + 1, n, z + r * z_stride, fresh);
    return;
  }
  extent const many = 1 + 4 * std::max<extent>(1, 1024 / n);
  for (extent r = 0; r < count; r += many) join_rows<Op, Lanes>(rows, r, std::min(r + many, count), n, z, fresh && r == 0);
}

/// All operands are contiguous, as they are in most elementwise operations: no blocks need be planned, which for a small tensor is most of the work.
constexpr bool is_one_row(nest_steps const& nest) {
  if (nest.rank == 0) return true;
  if (nest.rank > 1) return false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(nest.operands); ++k)
    if (nest.stride[k][0] != 1) return false;
  return true;
}

template<class Lanes, class F, class R, class... T>
void map_row(extent n, F const& f, R* z, T const*... x) {
  extent i = 0;
  for (; i + Lanes::width <= n; i += Lanes::width) Lanes::store(f(Lanes::load(x + i)...), z + i);
  if (i < n) store_first<Lanes>(f(load_first<Lanes>(x + i, n - i)...), z + i, n - i);
}

}  // namespace detail

/// z[...] = f(x...) for each turn of a nest that does not reduce; its operands are x... and z, in this order. z may be one of x, if it has the same strides.
///
/// `F::vectorised` says that f takes batches (simd.hpp). It then gets them whatever the strides are, and an element's bits do not depend on its position.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_nest(nest_steps const& steps, F f, R* z, T const*... x) {
  constexpr std::size_t result = sizeof...(T);
  if constexpr (detail::in_batches<F, R, T...>)
    if (detail::is_one_row(steps)) return detail::map_row<kernel::lanes<R, Arch>>(steps.turns, f, z, x...);
  detail::walker<Arch, F, R, T...> walk{steps, f, false, x...};
  auto const& plan  = walk.plan;
  bool const copied = plan.how[result] == detail::access::copied;
  extent const down = plan.row_stride[result];
  extent const step = plan.column_stride[result];
  std::array<R, detail::block_elements> values;

  detail::for_each_plane(steps, plan, [&](auto const& at, bool) {
    detail::for_each_block(plan, [&](detail::block const& b) {
      walk.fetch_all(b, at);
      R* const to = z + at[result] + b.row * down + b.column * step;
      if (copied) {
        walk.evaluate(b, values.data(), b.columns);
        detail::for_each_element<R>(b, down, step, [&](extent from, extent i) { to[i] = values[static_cast<std::size_t>(from)]; });
      } else {
        walk.evaluate(b, to, down);
      }
    });
  });
}

/// z = f(x...) joined by `Op` over the loops in which z stands still; with `Accumulate` joined to what z holds. Sums of floats stay accurate along rows of any
/// length. z may not overlap x.
template<reduction Op, bool Accumulate = false, class Arch = default_arch, class F, Element R, Element... T>
void reduce_nest(nest_steps const& steps, F f, R* z, T const*... x) {
  using lanes                  = kernel::lanes<R, Arch>;
  constexpr std::size_t result = sizeof...(T);
  constexpr bool batches       = detail::in_batches<F, R, T...>;
  detail::walker<Arch, F, R, T...> walk{steps, f, !batches, x...};
  auto const& plan  = walk.plan;
  bool const copied = plan.how[result] == detail::access::copied;
  extent const down = plan.row_stride[result];
  extent const step = plan.column_stride[result];
  std::array<R, detail::block_elements> values, sums;

  // what f gives for the rows of a block, as batches: at once, or out of `values`
  auto const rows_of = [&](detail::block const& b) {
    if constexpr (batches) {
      return walk.rows();
    } else {
      walk.evaluate(b, values.data(), b.columns);
      return detail::batch_rows<lanes, detail::unchanged, R, 1>{{}, {{{values.data(), b.columns, -1}}}};
    }
  };

  detail::for_each_plane(steps, plan, [&](auto const& at, bool again) {
    bool const begun = Accumulate || again;
    R* const plane   = z + at[result];
    detail::for_each_block(plan, [&](detail::block const& b) {
      walk.fetch_all(b, at);
      R* const to        = plane + b.row * down + b.column * step;
      bool const fresh   = !begun && (down != 0 || b.row == 0);
      extent const whole = b.rows * b.columns;
      if (copied) {
        walk.evaluate(b, values.data(), b.columns);
        detail::for_each_element<R>(b, down, step, [&](extent from, extent i) {
          R const value    = values[static_cast<std::size_t>(from)];
          bool const first = fresh && (down != 0 || from < b.columns);
          to[i]            = first ? value : detail::join<Op>(to[i], value);
        });
      } else if (step == 0) {
        auto const rows = rows_of(b);
        auto const add  = [&](R value, extent r) {
          to[r * down] = fresh && b.column == 0 && (down != 0 || r == 0) ? value : detail::join<Op>(to[r * down], value);
        };
        if (plan.joined && down == 0) add(detail::fold_row<Op, lanes, R>(rows, 0, whole), 0);
        else
          for (extent r = 0; r < b.rows; ++r) add(detail::fold_row<Op, lanes, R>(rows, r, b.columns), r);
      } else if (plan.joined && down == 0) {
        // columns too narrow for a batch: rows side by side are summed first
        auto const rows = rows_of(b);
        detail::join_rows<Op, lanes>(rows, 0, 1, whole, sums.data(), b.row == 0);
        if (b.row + b.rows < plan.rows) return;
        extent const kept = std::min(plan.block_rows, plan.rows) * plan.columns;
        for (extent i = 0; i < kept; ++i) {
          R const value = sums[static_cast<std::size_t>(i)];
          R& sum        = plane[i % plan.columns];
          sum           = !begun && i < plan.columns ? value : detail::join<Op>(sum, value);
        }
      } else if (plan.joined) {
        detail::join_rows<Op, lanes>(rows_of(b), 0, 1, whole, to, fresh);
      } else {
        detail::join_block<Op, lanes>(rows_of(b), b.rows, b.columns, to, down, fresh);
      }
    });
  });
}

}  // namespace kernel
}  // namespace meshtf::inline v0
