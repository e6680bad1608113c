// Loop nests: one functor over several arrays at once, and the joining of what it gives over loops in which the result stands still.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <meshtf/kernel/blocks.hpp>
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

/// How two values are joined. A maximum or minimum of which one is not a number is not a number, whichever it is.
template<reduction Op, class X>
X join(X const& a, X const& b) {
  using math::select;
  if constexpr (Op == reduction::sum) return a + b;
  else if constexpr (Op == reduction::max) return select(a == a, select(a > b, a, b), a);
  else return select(a == a, select(a < b, a, b), a);
}

/// `f` of the rows of a block, in batches of contiguous elements.
template<class Lanes, class F, class T, std::size_t N>
struct batch_rows {
  F f;
  std::array<piece<T>, N> x;

  /// The elements from the i-th on of row `r`.
  [[gnu::always_inline]] typename Lanes::batch full(extent r, extent i) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) {
      return f(Lanes::load(x[K].at + r * x[K].row + (i & x[K].moves))...);
    }(std::make_index_sequence<N>{});
  }
  /// The first `n` elements, fewer than a batch has; the other lanes mean nothing.
  typename Lanes::batch first(extent r, extent n) const {
    auto const load = [&](piece<T> const& p) { return p.moves == 0 ? Lanes::load(p.at + r * p.row) : load_first<Lanes>(p.at + r * p.row, n); };
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return f(load(x[K])...); }(std::make_index_sequence<N>{});
  }
};

/// z[i] = full(i) for i = 0 ... n-1, in batches. The last batch may overlap the one before: it is computed before anything is stored, so z
/// may be what is read, and in the same way as the others, so no element's bits depend on where it stands.
template<class Lanes, class T, class Full, class First>
[[gnu::always_inline]] inline void store_batches(extent n, T* z, Full full, First first) {
  constexpr extent width = Lanes::width;
  if (n < width) return store_first<Lanes>(first(n), z, n);
  extent const end = n - width;
  auto const last  = full(end);
  for (extent i = 0; i < end; i += width) Lanes::store(full(i), z + i);
  Lanes::store(last, z + end);
}

/// z = the first `count` rows. They are copied, and all of `full` is inlined: else the compiler reads them
/// again after every store, which could have changed them for all it knows.
template<class Lanes, class T, class Rows>
void store_rows(Rows const& rows, extent count, extent n, T* z, extent z_stride) {
  auto const x = rows;
  for (extent r = 0; r < count; ++r, z += z_stride)
    store_batches<Lanes>(
        n, z, [&](extent i) __attribute__((always_inline)) { return x.full(r, i); }, [&](extent some) { return rows.first(r, some); });
}

/// z = rows begin ... end joined (`fresh`), or z joined with them: z is read and written once for all of them.
template<reduction Op, class Lanes, class T, class Rows>
void join_rows(Rows const& rows, extent begin, extent end, extent n, T* z, bool fresh) {
  auto const x = rows;
  auto const joined = [=](auto const& value) __attribute__((always_inline)) {
    auto sum = value(begin);
    extent r = begin + 1;
    for (; r + 4 <= end; r += 4) sum = join<Op>(sum, join<Op>(join<Op>(value(r), value(r + 1)), join<Op>(value(r + 2), value(r + 3))));
    for (; r < end; ++r) sum = join<Op>(sum, value(r));
    return sum;
  };
  store_batches<Lanes>(
      n, z,
      [&](extent i) __attribute__((always_inline)) {
        auto const sum = joined([&](extent r) __attribute__((always_inline)) { return x.full(r, i); });
        return fresh ? sum : join<Op>(Lanes::load(z + i), sum);
      },
      [&](extent count) {
        auto const sum = joined([&](extent r) { return rows.first(r, count); });
        return fresh ? sum : join<Op>(load_first<Lanes>(z, count), sum);
      });
}

/// What changes nothing when it is joined.
template<reduction Op, class T>
inline constexpr T neutral = [] {
  using limits = std::numeric_limits<T>;
  if (Op == reduction::sum) return T{};
  if (Op == reduction::max) return limits::has_infinity ? static_cast<T>(-limits::infinity()) : limits::lowest();
  return limits::has_infinity ? limits::infinity() : limits::max();
}();

/// 0 for a batch's lanes, then 1 for as many: read from the n-th on, it says which are the last n lanes of a batch.
template<class Lanes, class T>
inline constexpr auto lane_marks = [] {
  std::array<T, 2 * Lanes::width> marks{};
  for (std::size_t i = Lanes::width; i < marks.size(); ++i) marks[i] = T(1);
  return marks;
}();

/// The elements begin ... end of row `r` joined to one, with four batches under way at once, since each addition waits for the last.
template<reduction Op, class Lanes, class T, class Rows>
T fold_piece(Rows const& rows, extent r, extent begin, extent end) {
  using math::select;
  using batch            = typename Lanes::batch;
  constexpr extent width = Lanes::width;
  std::array<T, Lanes::width> lane;
  if (end - begin < width) {   // the row itself is shorter than a batch
    Lanes::store(rows.first(r, end - begin), lane.data());
    for (std::size_t k = 1; k < static_cast<std::size_t>(end - begin); ++k) lane[0] = join<Op>(lane[0], lane[k]);
    return lane[0];
  }
  extent i  = begin + width;
  batch sum = rows.full(r, begin);
  if (i + 7 * width <= end) {
    batch b = rows.full(r, i), c = rows.full(r, i + width), d = rows.full(r, i + 2 * width);
    for (i += 3 * width; i + 4 * width <= end; i += 4 * width) {
      sum = join<Op>(sum, rows.full(r, i));
      b   = join<Op>(b, rows.full(r, i + width));
      c   = join<Op>(c, rows.full(r, i + 2 * width));
      d   = join<Op>(d, rows.full(r, i + 3 * width));
    }
    sum = join<Op>(join<Op>(sum, b), join<Op>(c, d));
  }
  for (; i + width <= end; i += width) sum = join<Op>(sum, rows.full(r, i));
  if (i < end) {
    auto const counts = Lanes::load(lane_marks<Lanes, T>.data() + (end - i)) > batch(T{});
    sum               = join<Op>(sum, select(counts, rows.full(r, end - width), batch(neutral<Op, T>)));
  }
  if constexpr (Op == reduction::sum) return Lanes::sum(sum);
  Lanes::store(sum, lane.data());
  constexpr std::size_t chains = Lanes::width < 4 ? 1 : 4;   // that do not wait for each other
  for (std::size_t k = chains; k < Lanes::width; ++k) lane[k % chains] = join<Op>(lane[k % chains], lane[k]);
  for (std::size_t k = 1; k < chains; ++k) lane[0] = join<Op>(lane[0], lane[k]);
  return lane[0];
}

/// A row joined to one element. Sums of floats are added up in double every so often, so the error does not grow with the length.
template<reduction Op, class Lanes, class T, class Rows>
T fold_row(Rows const& rows, extent r, extent n) {
  constexpr extent often = 1 << 14;
  using total_type       = std::conditional_t<Op == reduction::sum && std::same_as<T, float>, double, T>;
  if (n < 2 * often) return fold_piece<Op, Lanes, T>(rows, r, 0, n);
  auto total = static_cast<total_type>(fold_piece<Op, Lanes, T>(rows, r, 0, often));
  for (extent i = often; i < n;) {
    extent const end = n - i < 2 * often ? n : i + often;   // the last piece is long enough
    total            = join<Op>(total, static_cast<total_type>(fold_piece<Op, Lanes, T>(rows, r, i, end)));
    i                = end;
  }
  return static_cast<T>(total);
}

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

}  // namespace detail

/// z[...] = f(x...) for each turn of a nest that does not reduce; its operands are x... and z, in this order. z may be one of x, if it has the same strides.
///
/// `F::vectorised` says that f takes batches (simd.hpp). It then gets them whatever the strides are, and an element's bits do not depend on its position.
template<class Arch = default_arch, class F, Element R, Element... T>
void map_nest(nest_steps const& steps, F f, R* z, T const*... x) {
  constexpr std::size_t result = sizeof...(T);
  detail::walker<Arch, F, R, T...> walk{steps, f, false, x...};
  auto const& plan       = walk.plan;
  bool const copied      = plan.how[result] == detail::access::copied;
  extent const down      = plan.row_stride[result];
  extent const step      = plan.column_stride[result];
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
  auto const& plan   = walk.plan;
  bool const copied  = plan.how[result] == detail::access::copied;
  extent const down  = plan.row_stride[result];
  extent const step  = plan.column_stride[result];
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
          R const value = values[static_cast<std::size_t>(from)];
          bool const first = fresh && (down != 0 || from < b.columns);
          to[i]            = first ? value : detail::join<Op>(to[i], value);
        });
      } else if (step == 0) {
        auto const rows = rows_of(b);
        auto const add  = [&](R value, extent r) { to[r * down] = fresh && b.column == 0 && (down != 0 || r == 0) ? value : detail::join<Op>(to[r * down], value); };
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
