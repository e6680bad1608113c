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

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Joins two values. A maximum or minimum is NaN if either operand is.
template<reduction Op, class X>
X join(X const& a, X const& b) {
  using math::select;
  if constexpr (Op == reduction::sum) return a + b;
  else if constexpr (Op == reduction::product) return a * b;
  else if constexpr (Op == reduction::max) return select(a == a, select(a > b, a, b), a);
  else return select(a == a, select(a < b, a, b), a);
}

/// Where the operands of one row begin, and which of them move along the row.
template<class T, std::size_t N>
struct row_operands {
  std::array<T const*, N> data;
  std::array<extent, N> moves;
};

/// `f` of one row, in batches of contiguous elements. Packs are written out here: a lambda that expands one
/// costs three more templates for every functor.
template<class Lanes, class F, class T, std::size_t N>
struct batch_row {
  static_assert(N >= 1 && N < max_operands);
  using batch = typename Lanes::batch;

  F f;
  row_operands<T, N> x;

  /// The batch that begins at element i.
  [[gnu::always_inline]] batch full(extent i) const {
    if constexpr (N == 1) return f(load(0, i));
    else if constexpr (N == 2) return f(load(0, i), load(1, i));
    else if constexpr (N == 3) return f(load(0, i), load(1, i), load(2, i));
    else return f(load(0, i), load(1, i), load(2, i), load(3, i));
  }
  /// Moves on by a batch.
  [[gnu::always_inline]] void advance() {
    for (std::size_t k = 0; k < N; ++k) x.data[k] += Lanes::width & x.moves[k];
  }
  /// `n` elements from element i on, at most a batch; the other lanes are meaningless.
  [[gnu::always_inline]] batch first(extent i, extent n) const {
    if constexpr (N == 1) return f(some(0, i, n));
    else if constexpr (N == 2) return f(some(0, i, n), some(1, i, n));
    else if constexpr (N == 3) return f(some(0, i, n), some(1, i, n), some(2, i, n));
    else return f(some(0, i, n), some(1, i, n), some(2, i, n), some(3, i, n));
  }

private:
  [[gnu::always_inline]] batch load(std::size_t k, extent i) const {
    return Lanes::load(x.data[k] + (i & x.moves[k]));
  }
  [[gnu::always_inline]] batch some(std::size_t k, extent i, extent n) const {
    return load_first<Lanes>(x.data[k] + (i & x.moves[k]), n);
  }
};

/// `f` of the rows of a block.
template<class Lanes, class F, class T, std::size_t N>
struct batch_rows {
  F f;
  std::array<piece, N> x;

  /// Copied member by member: copying whole pieces would stall until their members, which were just written,
  /// leave the store buffer.
  [[gnu::always_inline]] batch_rows(F const& functor, piece const* pieces) : f{functor} {
    for (std::size_t k = 0; k < N; ++k) {
      x[k].data  = pieces[k].data;
      x[k].row   = pieces[k].row;
      x[k].moves = pieces[k].moves;
    }
  }

  [[gnu::always_inline]] batch_row<Lanes, F, T, N> operator[](extent r) const {
    if constexpr (N == 1) return {f, {{at(0, r)}, {x[0].moves}}};
    else if constexpr (N == 2) return {f, {{at(0, r), at(1, r)}, {x[0].moves, x[1].moves}}};
    else if constexpr (N == 3)
      return {f, {{at(0, r), at(1, r), at(2, r)}, {x[0].moves, x[1].moves, x[2].moves}}};
    else
      return {f,
              {{at(0, r), at(1, r), at(2, r), at(3, r)}, {x[0].moves, x[1].moves, x[2].moves, x[3].moves}}};
  }

private:
  [[gnu::always_inline]] T const* at(std::size_t k, extent r) const {
    return static_cast<T const*>(x[k].data) + r * x[k].row;
  }
};

/// z = the first `count` rows; z may be an operand, element for element. Row objects are copied, and
/// everything is inlined: otherwise the compiler reads them again after every store, which might have changed
/// them.
template<class Lanes, class T, class Rows>
[[gnu::always_inline]] inline void store_rows(Rows const& rows, extent count, extent n, T* z,
                                              extent z_stride) {
  constexpr extent width = Lanes::width;
  auto const all         = rows;
  extent const whole     = n / width * width;
  extent const left      = n - whole;
  for (extent r = 0; r < count; ++r, z += z_stride) {
    auto row = all[r];
    for (extent i = 0; i < whole; i += width, row.advance()) Lanes::store(row.full(0), z + i);
    if (left > 0) store_first<Lanes>(row.first(0, left), z + whole, left);
  }
}

/// The neutral element of the reduction.
template<reduction Op, class T>
inline constexpr T neutral = [] {
  using limits = std::numeric_limits<T>;
  if (Op == reduction::sum) return T{};
  if (Op == reduction::product) return static_cast<T>(1);
  if (Op == reduction::max)
    return limits::has_infinity ? static_cast<T>(-limits::infinity()) : limits::lowest();
  return limits::has_infinity ? limits::infinity() : limits::max();
}();

/// Joins rows begin ... end and stores the result in z (`fresh`), or joins it with z: z is read and written
/// once for all of them. Four additions run at once, since each must wait for the one before it: those of
/// four batches of columns, or of four rows.
template<reduction Op, class Lanes, class T, class Rows>
[[gnu::always_inline]] inline void join_rows(Rows const& rows, extent begin, extent end, extent n, T* z,
                                             bool fresh) {
  constexpr extent width = Lanes::width;
  using batch            = typename Lanes::batch;
  auto const all         = rows;
  extent i               = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    batch const none(neutral<Op, T>);
    batch a = none;
    batch b = none;
    batch c = none;
    batch d = none;
    for (extent r = begin; r < end; ++r) {
      auto const row = all[r];
      a              = join<Op>(a, row.full(i));
      b              = join<Op>(b, row.full(i + width));
      c              = join<Op>(c, row.full(i + 2 * width));
      d              = join<Op>(d, row.full(i + 3 * width));
    }
    T* const to = z + i;
    if (!fresh) {
      a = join<Op>(Lanes::load(to), a);
      b = join<Op>(Lanes::load(to + width), b);
      c = join<Op>(Lanes::load(to + 2 * width), c);
      d = join<Op>(Lanes::load(to + 3 * width), d);
    }
    Lanes::store(a, to);
    Lanes::store(b, to + width);
    Lanes::store(c, to + 2 * width);
    Lanes::store(d, to + 3 * width);
  }
  for (; i < n; i += width) {
    extent const some = std::min(n - i, width);
    auto const value  = [&](extent r) __attribute__((always_inline)) { return all[r].first(i, some); };
    batch sum(neutral<Op, T>);
    extent r = begin;
    for (; r + 4 <= end; r += 4)
      sum = join<Op>(sum, join<Op>(join<Op>(value(r), value(r + 1)), join<Op>(value(r + 2), value(r + 3))));
    for (; r < end; ++r) sum = join<Op>(sum, value(r));
    if (!fresh) sum = join<Op>(load_first<Lanes>(z + i, some), sum);
    store_first<Lanes>(sum, z + i, some);
  }
}

/// Joins the elements begin ... end of a row to one batch, whose lanes are still to be joined. Four batches
/// are in flight at once, since each addition must wait for the one before it.
template<reduction Op, class Lanes, class T, class Row>
typename Lanes::batch fold_row(Row const& row, extent begin, extent end) {
  constexpr extent width = Lanes::width;
  extent i               = begin;
  typename Lanes::batch sum(neutral<Op, T>);
  if (i + 8 * width <= end) {
    auto a = row.full(i);
    auto b = row.full(i + width);
    auto c = row.full(i + 2 * width);
    auto d = row.full(i + 3 * width);
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

/// Joins the lanes of a batch, in the order in which `join_square` joins them.
template<reduction Op, class Lanes, class T>
[[gnu::always_inline]] inline T join_lanes(typename Lanes::batch x) {
  unrolled<std::bit_width(unsigned{Lanes::width}) - 1>([&](auto) __attribute__((always_inline)) {
    x = join<Op>(interleaved<false, Lanes, T>(x, x), interleaved<true, Lanes, T>(x, x));
  });
  std::array<T, Lanes::width> lane;
  Lanes::store(x, lane.data());
  return lane[0];
}

/// z[r] = the lanes of the r-th batch of the square, joined: two rows become one with half as many lanes
/// each, until all are joined. If half a square is enough, it is used for both halves; the rows that are used
/// must all be set.
template<reduction Op, class Lanes, class T>
[[gnu::noinline]] void join_square(std::array<T, Lanes::width * Lanes::width> const& square, bool whole,
                                   T* z) {
  constexpr std::size_t n = Lanes::width;
  std::array<typename Lanes::batch, n> rows;
  T const* const upper = square.data();
  T const* const lower = upper + (whole ? n / 2 * n : 0);
  unrolled<n>([&](auto i) __attribute__((always_inline)) {
    if constexpr (i() < n / 2) rows[i] = Lanes::load(upper + i() * n);
    else rows[i] = Lanes::load(lower + (i() - n / 2) * n);
  });
  unrolled<std::bit_width(n) - 1>([&](auto level) __attribute__((always_inline)) {
    constexpr std::size_t half = n >> (level() + 1);
    unrolled<half>([&](auto i) __attribute__((always_inline)) {
      rows[i] = join<Op>(interleaved<false, Lanes, T>(rows[i()], rows[i() + half]),
                         interleaved<true, Lanes, T>(rows[i()], rows[i() + half]));
    });
  });
  Lanes::store(rows[0], z);
}

/// The type in which the parts of a long row are added up or multiplied: double for floats, so that the error
/// does not grow with the length.
template<reduction Op, class T>
using total_of = std::conditional_t<Op == reduction::sum || Op == reduction::product,
                                    typename element_traits<T>::sums_in, T>;

/// Joins a long row to one element, `often` elements at a time.
template<reduction Op, class Lanes, class T, class Row>
T fold_long_row(Row const& row, extent n, extent often) {
  auto total = total_of<Op, T>{join_lanes<Op, Lanes, T>(fold_row<Op, Lanes, T>(row, 0, std::min(n, often)))};
  for (extent i = often; i < n; i += often)
    total = join<Op>(
        total,
        total_of<Op, T>{join_lanes<Op, Lanes, T>(fold_row<Op, Lanes, T>(row, i, std::min(n, i + often)))});
  return static_cast<T>(total);
}

/// Joins each of `count` rows to one element: to.add(begin, n, elements) for the n rows from `begin` on. It
/// joins as many rows together as a batch has lanes.
template<reduction Op, class Lanes, class T, class Rows, class Target>
[[gnu::always_inline]] inline void fold_rows(Rows const& rows, extent count, extent n, Target& to) {
  constexpr extent width = Lanes::width;
  constexpr extent often = 1 << 14;
  auto const all         = rows;
  if (count == 1 || n >= often) {
    for (extent r = 0; r < count; ++r) {
      std::array<T, Lanes::width> const total{fold_long_row<Op, Lanes, T>(all[r], n, often)};
      to.template add<Lanes>(r, 1, total);
    }
    return;
  }
  for (extent begin = 0; begin < count; begin += width) {
    extent const some = std::min(width, count - begin);
    alignas(64) std::array<T, Lanes::width * Lanes::width> square;
    typename Lanes::batch last(neutral<Op, T>);
    if (n <= width) {
#pragma GCC unroll 4
      for (extent r = 0; r < some; ++r) {
        last = first_or<Lanes>(all[begin + r].first(0, n), n, neutral<Op, T>);
        Lanes::store(last, square.data() + r * width);
      }
    } else {
#pragma GCC unroll 1
      for (extent r = 0; r < some; ++r) {
        last = fold_row<Op, Lanes, T>(all[begin + r], 0, n);
        Lanes::store(last, square.data() + r * width);
      }
    }
    bool const whole  = some > width / 2;
    extent const full = whole ? width : width / 2;
    // repeats the last row
    for (extent r = some; r < full; ++r) Lanes::store(last, square.data() + r * width);
    std::array<T, Lanes::width> joined;
    join_square<Op, Lanes>(square, whole, joined.data());
    to.template add<Lanes>(begin, some, joined);
  }
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
