// Products of small matrices in the cache: what a GEMM library does after packing, for callers that have
// already packed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <meshtf/core/placed.hpp>
#include <meshtf/kernel/simd.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// The numbers of rows and columns of small products are multiples of this: whole tiles on every processor,
/// so no tile has an edge.
inline constexpr extent tile_grain = 16;

/// a * b + c in one instruction where there is one: written as one expression of the processor's own type,
/// which every compiler may contract.
template<class Batch>
[[gnu::always_inline]] inline Batch times_plus(Batch const& a, Batch const& b, Batch const& c) {
  if constexpr (requires(typename Batch::register_type r) { r* r + r; }) {
    using native = typename Batch::register_type;
    return Batch(static_cast<native>(a) * static_cast<native>(b) + static_cast<native>(c));
  } else {
    return a * b + c;
  }
}

/// A matrix whose elements are read one at a time, with a stride from row to row and another along a row.
template<class T>
struct left_matrix {
  T const* data;
  extent row;
  extent step;

  left_matrix from(extent i) const { return {data + i * row, row, step}; }
};

/// A matrix whose rows are contiguous.
template<class T>
struct row_matrix {
  T* data;
  extent row;

  row_matrix from(extent i) const { return {data + i * row, row}; }
  row_matrix along(extent j) const { return {data + j, row}; }
};

/// `Rows` x `Columns` batches of C = A B, or C += A B, over all k: the sums stay in registers.
template<std::size_t Rows, std::size_t Columns, class Lanes, class T>
[[gnu::always_inline]] inline void product_tile(extent k, left_matrix<T> a, row_matrix<T const> b,
                                                row_matrix<T> c, bool add) {
  using batch            = typename Lanes::batch;
  constexpr extent width = Lanes::width;
  std::array<batch, Rows * Columns> sum;
  unrolled<Rows * Columns>([&](auto i) __attribute__((always_inline)) { sum[i] = batch(T{}); });
  for (extent p = 0; p < k; ++p, a.data += a.step, b.data += b.row) {
    std::array<batch, Columns> right;
    unrolled<Columns>([&](auto j) __attribute__((always_inline)) {
      right[j] = Lanes::load(b.data + static_cast<extent>(j()) * width);
    });
    unrolled<Rows>([&](auto i) __attribute__((always_inline)) {
      batch const left(a.data[static_cast<extent>(i()) * a.row]);
      unrolled<Columns>([&](auto j) __attribute__((always_inline)) {
        constexpr std::size_t to = i() * Columns + j();
        sum[to]                  = times_plus(left, right[j], sum[to]);
      });
    });
  }
  unrolled<Rows>([&](auto i) __attribute__((always_inline)) {
    unrolled<Columns>([&](auto j) __attribute__((always_inline)) {
      T* const to       = c.data + static_cast<extent>(i()) * c.row + static_cast<extent>(j()) * width;
      batch const& mine = sum[i() * Columns + j()];
      Lanes::store(add ? Lanes::load(to) + mine : mine, to);
    });
  });
}

/// C = A B, or C += A B, of m x k and k x n matrices; m and n are multiples of `tile_grain`.
template<class Lanes, class T>
[[gnu::noinline]] void small_product(extent m, extent n, extent k, left_matrix<T> const& a,
                                     row_matrix<T const> const& b, row_matrix<T> const& c, bool add) {
  // Sums stay in registers: 16 batches where there are 32 registers, 8 where there are 16. Batches of 64
  // bytes mean 32 registers.
  constexpr std::size_t rows = Lanes::width * sizeof(T) == 64 ? 8 : 4;
  constexpr extent down      = static_cast<extent>(rows);
  constexpr extent along     = 2 * Lanes::width;
  static_assert(tile_grain % down == 0 && (tile_grain % along == 0 || along == 2 * tile_grain));
  extent j = 0;
  for (; j + along <= n; j += along)
    for (extent i = 0; i < m; i += down)
      product_tile<rows, 2, Lanes>(k, a.from(i), b.along(j), c.from(i).along(j), add);
  if constexpr (along > tile_grain)
    if (j < n)
      for (extent i = 0; i < m; i += down)
        product_tile<rows, 1, Lanes>(k, a.from(i), b.along(j), c.from(i).along(j), add);
}

/// c = a B, or c += a B, of one row and a k x n matrix; n is a multiple of `tile_grain`. The bits are those
/// of a row of `small_product`.
template<class Lanes, class T>
[[gnu::noinline]] void small_product_of_row(extent n, extent k, left_matrix<T> const& a,
                                            row_matrix<T const> const& b, row_matrix<T> const& c, bool add) {
  constexpr extent along = 4 * Lanes::width;
  static_assert(tile_grain % Lanes::width == 0);
  extent j = 0;
  for (; j + along <= n; j += along) product_tile<1, 4, Lanes>(k, a, b.along(j), c.along(j), add);
  for (; j < n; j += Lanes::width) product_tile<1, 1, Lanes>(k, a, b.along(j), c.along(j), add);
}

/// `to` = the transpose of a square tile `from`, with as many rows as a batch has lanes, times a factor.
/// Narrow elements are widened.
template<class Lanes, class T, class U>
[[gnu::noinline]] void transpose_tile(row_matrix<T const> const& from, U factor, row_matrix<U> const& to) {
  constexpr std::size_t n = Lanes::width;
  std::array<typename Lanes::batch, n> rows;
  unrolled<n>([&](auto i) __attribute__((always_inline)) {
    rows[i] = Lanes::load(from.from(static_cast<extent>(i())).data) * typename Lanes::batch(factor);
  });
  transpose_square<Lanes, U>(rows);
  unrolled<n>([&](auto i) __attribute__((always_inline)) {
    Lanes::store(rows[i], to.from(static_cast<extent>(i())).data);
  });
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
