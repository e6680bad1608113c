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

/// The operands of a nest block by block, and `f` of their rows.
template<class Arch, class F, class R, class... T>
struct walker {
  static constexpr bool batches = in_batches<F, R, T...>;
  using lanes                   = kernel::lanes<R, Arch>;

  F const& f;
  block_plan plan;
  std::tuple<T const*...> start;
  std::tuple<block_buffer<T>...> copies;
  std::tuple<piece<T>...> now;

  walker(nest_steps const& nest, F const& functor, bool buffered, T const*... x)
      : f{functor}, plan{plan_blocks(nest, lanes::width, batches, buffered)}, start{x...} {}

  template<std::size_t... K>
  void fetch_all(block const& b, std::array<extent, max_operands> const& at, std::index_sequence<K...>) {
    ((std::get<K>(now) = fetch<Arch>(plan, K, b, std::get<K>(start) + at[K], std::get<K>(copies))), ...);
  }
  void fetch_all(block const& b, std::array<extent, max_operands> const& at) { fetch_all(b, at, std::index_sequence_for<T...>{}); }

  /// The rows of the block. With batches only.
  auto rows() const {
    return std::apply([&](auto const&... p) { return batch_rows<lanes, F, R, sizeof...(T)>{f, {p...}}; }, now);
  }

  /// z = f of the block's rows, from row to row `z_stride` apart.
  void evaluate(block const& b, R* z, extent z_stride) const {
    if constexpr (batches) {
      store_rows<lanes>(rows(), b.rows, b.columns, z, z_stride);
    } else {
      for (extent r = 0; r < b.rows; ++r)
        std::apply([&](auto const&... p) { plain_loop(f, b.columns, z + r * z_stride, (p.at + r * p.row)...); }, now);
    }
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
void map_nest(nest_steps const& steps, F f, R* z, T const*... x) {
  constexpr std::size_t result = sizeof...(T);
  if (detail::is_one_row(steps)) return map_row<Arch>(steps.turns, f, z, x...);
  detail::walker<Arch, F, R, T...> walk{steps, f, false, x...};
  auto const& plan  = walk.plan;
  bool const copied = plan.how[result] == detail::access::copied;
  extent const down = plan.row_stride[result];
  extent const step = plan.column_stride[result];
  detail::block_buffer<R> values;

  detail::planes plane{steps, plan};
  do {
    detail::for_each_block(plan, [&](detail::block const& b) {
      walk.fetch_all(b, plane.at());
      R* const to = z + plane.at()[result] + b.row * down + b.column * step;
      walk.evaluate(b, copied ? values.element.data() : to, copied ? plan.pitch : down);
      if (copied) detail::store_copy<Arch>(b, plan.pitch, values.element.data(), to, down, step);
    });
  } while (plane.next());
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
  detail::block_buffer<R> values;

  // what f gives for the rows of a block, as batches: at once, or out of `values`
  auto const rows_of = [&](detail::block const& b) {
    if constexpr (batches) {
      return walk.rows();
    } else {
      walk.evaluate(b, values.element.data(), plan.pitch);
      return detail::batch_rows<lanes, unchanged, R, 1>{{}, {{{values.element.data(), plan.pitch, -1}}}};
    }
  };

  // a row in several blocks that follow each other: their sums are added up as those of a long row are
  bool const piecewise = plan.columns > plan.block_columns && plan.strip == plan.columns && plan.block_rows == 1;
  detail::total_of<Op, R> running{};

  detail::planes plane{steps, plan};
  do {
    bool const begun = Accumulate || plane.again();
    detail::for_each_block(plan, [&](detail::block const& b) {
      walk.fetch_all(b, plane.at());
      R* const to      = z + plane.at()[result] + b.row * down + b.column * step;
      bool const fresh = !begun && (down != 0 || b.row == 0);
      if (copied) {
        walk.evaluate(b, values.element.data(), plan.pitch);
        detail::for_each_element(b, plan.pitch, down, step, [&](extent from, extent i) {
          R const value    = values.element[static_cast<std::size_t>(from)];
          bool const first = fresh && (down != 0 || from < b.columns);
          to[i]            = first ? value : detail::join<Op>(to[i], value);
        });
      } else if (step == 0) {
        detail::fold_rows<Op, lanes, R>(rows_of(b), b.rows, b.columns, [&](extent r, R value) {
          if (piecewise) {
            running = b.column == 0 ? detail::total_of<Op, R>{value} : detail::join<Op>(running, detail::total_of<Op, R>{value});
            if (b.column + b.columns < plan.columns) return;
            value = static_cast<R>(running);
          }
          R& sum = to[r * down];
          sum    = fresh && (piecewise || b.column == 0) && (down != 0 || r == 0) ? value : detail::join<Op>(sum, value);
        });
      } else {
        detail::join_block<Op, lanes>(rows_of(b), b.rows, b.columns, to, down, fresh);
      }
    });
  } while (plane.next());
}

}  // namespace kernel
}  // namespace meshtf::inline v0
