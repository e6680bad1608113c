// Rows of a block in batches: stored, joined to one row, or each joined to one element.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include <meshtf/kernel/blocks.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/collective.hpp>

namespace meshtf::inline v0 {
namespace kernel {
namespace detail {

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
    return [&]<std::size_t... K>(std::index_sequence<K...>)
               __attribute__((always_inline)) { return f(Lanes::load(x[K].at + r * x[K].row + (i & x[K].moves))...); }(std::make_index_sequence<N>{});
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
  auto const x      = rows;
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

}  // namespace detail
}  // namespace kernel
}  // namespace meshtf::inline v0
