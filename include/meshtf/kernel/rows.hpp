// Rows of a block in batches: stored, joined to one row, or each joined to one element.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

/// `f` of one row, in batches of contiguous elements.
template<class Lanes, class F, class T, std::size_t N>
struct batch_row {
  F f;
  std::array<T const*, N> at;
  std::array<extent, N> moves;

  /// The elements from the i-th on.
  [[gnu::always_inline]] typename Lanes::batch full(extent i) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>)
               __attribute__((always_inline)) { return f(Lanes::load(at[K] + (i & moves[K]))...); }(std::make_index_sequence<N>{});
  }
  /// `n` elements from the i-th on, no more than a batch has; the other lanes mean nothing.
  [[gnu::always_inline]] typename Lanes::batch first(extent i, extent n) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>)
               __attribute__((always_inline)) { return f(load_first<Lanes>(at[K] + (i & moves[K]), n)...); }(std::make_index_sequence<N>{});
  }
};

/// `f` of the rows of a block.
template<class Lanes, class F, class T, std::size_t N>
struct batch_rows {
  F f;
  std::array<piece<T>, N> x;

  [[gnu::always_inline]] batch_row<Lanes, F, T, N> operator[](extent r) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) {
      return batch_row<Lanes, F, T, N>{f, {x[K].at + r * x[K].row...}, {x[K].moves...}};
    }(std::make_index_sequence<N>{});
  }
};

/// z = the first `count` rows; z may be what is read, element for element. Rows are copied, and all of them is inlined: else the compiler reads them again
/// after every store, which could have changed them for all it knows.
template<class Lanes, class T, class Rows>
void store_rows(Rows const& rows, extent count, extent n, T* z, extent z_stride) {
  constexpr extent width = Lanes::width;
  auto const all         = rows;
  extent const whole = n / width * width, left = n - whole;
  for (extent r = 0; r < count; ++r, z += z_stride) {
    auto const row = all[r];
    for (extent i = 0; i < whole; i += width) Lanes::store(row.full(i), z + i);
    if (left > 0) store_first<Lanes>(row.first(whole, left), z + whole, left);
  }
}

/// What changes nothing when it is joined.
template<reduction Op, class T>
inline constexpr T neutral = [] {
  using limits = std::numeric_limits<T>;
  if (Op == reduction::sum) return T{};
  if (Op == reduction::max) return limits::has_infinity ? static_cast<T>(-limits::infinity()) : limits::lowest();
  return limits::has_infinity ? limits::infinity() : limits::max();
}();

/// z = rows begin ... end joined (`fresh`), or z joined with them: z is read and written once for all of them. Four additions are under way at once, since each
/// waits for the last: of four batches of columns, or of four rows.
template<reduction Op, class Lanes, class T, class Rows>
void join_rows(Rows const& rows, extent begin, extent end, extent n, T* z, bool fresh) {
  constexpr extent width = Lanes::width;
  using batch            = typename Lanes::batch;
  auto const all         = rows;
  extent i               = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    batch const none(neutral<Op, T>);
    std::array<batch, 4> sum{none, none, none, none};
    for (extent r = begin; r < end; ++r) {
      auto const row = all[r];
      unrolled<4>([&](auto k) __attribute__((always_inline)) { sum[k] = join<Op>(sum[k], row.full(i + static_cast<extent>(k()) * width)); });
    }
    unrolled<4>([&](auto k) __attribute__((always_inline)) {
      T* const to = z + i + static_cast<extent>(k()) * width;
      Lanes::store(fresh ? sum[k] : join<Op>(Lanes::load(to), sum[k]), to);
    });
  }
  for (; i < n; i += width) {
    extent const some = std::min(n - i, width);
    auto const value  = [&](extent r) __attribute__((always_inline)) { return all[r].first(i, some); };
    batch sum(neutral<Op, T>);
    extent r = begin;
    for (; r + 4 <= end; r += 4) sum = join<Op>(sum, join<Op>(join<Op>(value(r), value(r + 1)), join<Op>(value(r + 2), value(r + 3))));
    for (; r < end; ++r) sum = join<Op>(sum, value(r));
    if (!fresh) sum = join<Op>(load_first<Lanes>(z + i, some), sum);
    store_first<Lanes>(sum, z + i, some);
  }
}

/// The elements begin ... end of a row joined to a batch, whose lanes are to be joined yet. Four batches are under way at once, since each addition waits for
/// the last.
template<reduction Op, class Lanes, class T, class Row>
typename Lanes::batch fold_row(Row const& row, extent begin, extent end) {
  constexpr extent width = Lanes::width;
  extent i               = begin;
  typename Lanes::batch sum(neutral<Op, T>);
  if (i + 8 * width <= end) {
    auto a = row.full(i), b = row.full(i + width), c = row.full(i + 2 * width), d = row.full(i + 3 * width);
    for (i += 4 * width; i + 4 * width <= end; i += 4 * width) {
      a = join<Op>(a, row.full(i));
      b = join<Op>(b, row.full(i + width));
      c = join<Op>(c, row.full(i + 2 * width));
      d = join<Op>(d, row.full(i + 3 * width));
    }
    sum = join<Op>(join<Op>(a, b), join<Op>(c, d));
  }
  for (; i + width <= end; i += width) sum = join<Op>(sum, row.full(i));
  if (i < end) sum = join<Op>(sum, first_or<Lanes>(row.first(i, end - i), end - i, neutral<Op, T>));
  return sum;
}

/// The lanes of a batch joined.
template<reduction Op, class Lanes, class T>
T join_lanes(typename Lanes::batch const& x) {
  if constexpr (Op == reduction::sum) {
    return Lanes::sum(x);
  } else {
    std::array<T, Lanes::width> lane;
    Lanes::store(x, lane.data());
    constexpr std::size_t chains = Lanes::width < 4 ? 1 : 4;  // that do not wait for each other
    for (std::size_t k = chains; k < Lanes::width; ++k) lane[k % chains] = join<Op>(lane[k % chains], lane[k]);
    for (std::size_t k = 1; k < chains; ++k) lane[0] = join<Op>(lane[0], lane[k]);
    return lane[0];
  }
}

/// z[r] = the lanes of the r-th batch joined, for a batch full of r: two rows become one of half as many lanes each, until all have met.
template<reduction Op, class Lanes, class T>
[[gnu::noinline]] void join_square(std::array<T, Lanes::width * Lanes::width> const& square, T* z) {
  constexpr std::size_t n = Lanes::width;
  std::array<typename Lanes::batch, n> rows;
  unrolled<n>([&](auto i) __attribute__((always_inline)) { rows[i] = Lanes::load(square.data() + i() * n); });
  unrolled<std::bit_width(n) - 1>([&](auto level) __attribute__((always_inline)) {
    constexpr std::size_t half = n >> (level() + 1);
    unrolled<half>([&](auto i) __attribute__((always_inline)) {
      rows[i] = join<Op>(interleaved<false, Lanes, T>(rows[i()], rows[i() + half]), interleaved<true, Lanes, T>(rows[i()], rows[i() + half]));
    });
  });
  Lanes::store(rows[0], z);
}

/// What the parts of a long row are added up in: sums of floats in double, so the error does not grow with the length.
template<reduction Op, class T>
using total_of = std::conditional_t<Op == reduction::sum && std::same_as<T, float>, double, T>;

/// A long row joined to one element, `often` elements at a time.
template<reduction Op, class Lanes, class T, class Row>
T fold_long_row(Row const& row, extent n, extent often) {
  using total_type = total_of<Op, T>;
  auto const piece = [&](extent begin, extent end) {
    return static_cast<total_type>(join_lanes<Op, Lanes, T>(fold_row<Op, Lanes, T>(row, begin, end)));
  };
  auto total = piece(0, std::min(n, often));
  for (extent i = often; i < n; i += often) total = join<Op>(total, piece(i, std::min(n, i + often)));
  return static_cast<T>(total);
}

/// Each of `count` rows joined to one element: add(r, element). As many rows as a batch has lanes are joined together.
template<reduction Op, class Lanes, class T, class Rows, class Add>
void fold_rows(Rows const& rows, extent count, extent n, Add const& add) {
  constexpr extent width = Lanes::width, often = 1 << 14;
  auto const all = rows;
  if (count == 1 || n >= often) {
    for (extent r = 0; r < count; ++r) add(r, fold_long_row<Op, Lanes, T>(all[r], n, often));
    return;
  }
  for (extent begin = 0; begin < count; begin += width) {
    extent const some = std::min(width, count - begin);
    alignas(64) std::array<T, Lanes::width * Lanes::width> square;
    if (n <= width)
      for (extent r = 0; r < some; ++r) Lanes::store(first_or<Lanes>(all[begin + r].first(0, n), n, neutral<Op, T>), square.data() + r * width);
    else
      for (extent r = 0; r < some; ++r) Lanes::store(fold_row<Op, Lanes, T>(all[begin + r], 0, n), square.data() + r * width);
    std::fill(square.begin() + some * width, square.end(), T{});
    std::array<T, Lanes::width> joined;
    join_square<Op, Lanes>(square, joined.data());
    for (extent r = 0; r < some; ++r) add(begin + r, joined[static_cast<std::size_t>(r)]);
  }
}

}  // namespace detail
}  // namespace kernel
}  // namespace meshtf::inline v0
