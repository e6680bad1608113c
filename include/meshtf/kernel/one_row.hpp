// Products of a matrix and a vector, at the rate at which the matrix is read: a product of one row is as fast
// as memory is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// The sum of x * y over `n` elements, on four chains: each addition of a chain waits for the one before.
template<class Lanes, class T>
[[gnu::always_inline]] inline T dot_of_row(extent n, T const* x, T const* y) {
  using batch            = typename Lanes::batch;
  constexpr extent width = Lanes::width;
  std::array<batch, 4> sum{batch(T{}), batch(T{}), batch(T{}), batch(T{})};
  extent i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    unrolled<4>([&](auto c) __attribute__((always_inline)) {
      extent const from = i + static_cast<extent>(c()) * width;
      sum[c]            = times_plus(Lanes::load(x + from), Lanes::load(y + from), sum[c]);
    });
  for (; i + width <= n; i += width) sum[0] = times_plus(Lanes::load(x + i), Lanes::load(y + i), sum[0]);
  T rest{};
  for (; i < n; ++i) rest += x[i] * y[i];
  return Lanes::sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

/// y = A x + beta y, of m rows of k contiguous elements, `lda` from row to row; x is contiguous, and y has a
/// step. Where beta is 0, y is not read.
///
/// One row after the other, since a processor prefetches one long stream better than several: libraries read
/// four rows or more at once, and take twice the time where the matrix is not in the cache
/// (benchmarks/one_row.cpp).
template<class T, class Arch = default_arch>
[[gnu::noinline]] void rows_times_vector(extent m, extent k, T const* a, extent lda, T const* x, T beta, T* y,
                                         extent step_y) {
  for (extent i = 0; i < m; ++i, a += lda, y += step_y) {
    T const sum = dot_of_row<lanes<T, Arch>>(k, a, x);
    *y          = beta == T{} ? sum : sum + beta * *y;
  }
}

/// `Batches` of y += `Rows` rows of A times as many elements of x. Each row is read in a burst of several
/// cache lines before the next one is, and the sums stay in registers.
template<std::size_t Rows, std::size_t Batches, class Lanes, class T>
[[gnu::always_inline]] inline void add_some_rows(T const* a, extent lda, T const* x, extent step_x, T* y,
                                                 bool add) {
  using batch            = typename Lanes::batch;
  constexpr extent width = Lanes::width;
  std::array<batch, Batches> sum;
  unrolled<Batches>([&](auto c) __attribute__((always_inline)) {
    sum[c] = add ? Lanes::load(y + static_cast<extent>(c()) * width) : batch(T{});
  });
  for (std::size_t r = 0; r < Rows; ++r, a += lda, x += step_x) {
    batch const factor(*x);
    unrolled<Batches>([&](auto c) __attribute__((always_inline)) {
      sum[c] = times_plus(factor, Lanes::load(a + static_cast<extent>(c()) * width), sum[c]);
    });
  }
  unrolled<Batches>([&](auto c) __attribute__((always_inline)) {
    Lanes::store(sum[c], y + static_cast<extent>(c()) * width);
  });
}

/// y = or += `Rows` rows of A, of n elements each, times as many elements of x.
template<std::size_t Rows, class Lanes, class T>
[[gnu::always_inline]] inline void add_rows(extent n, T const* a, extent lda, T const* x, extent step_x, T* y,
                                            bool add) {
  constexpr extent burst = 4 * Lanes::width;
  extent j               = 0;
  for (; j + burst <= n; j += burst) add_some_rows<Rows, 4, Lanes>(a + j, lda, x, step_x, y + j, add);
  for (; j + Lanes::width <= n; j += Lanes::width)
    add_some_rows<Rows, 1, Lanes>(a + j, lda, x, step_x, y + j, add);
  for (; j < n; ++j) add_some_rows<Rows, 1, lanes<T, no_simd>>(a + j, lda, x, step_x, y + j, add);
}

/// y = the sum of the k rows of A, each of n contiguous elements and times an element of x, + beta y; y is
/// contiguous, and x has a step. Where beta is 0, y is not read.
///
/// Eight rows at a time: so y, which may fill the first cache, is read and written for one row of eight.
template<class T, class Arch = default_arch>
[[gnu::noinline]] void sum_of_rows(extent k, extent n, T const* a, extent lda, T const* x, extent step_x,
                                   T beta, T* y) {
  using some             = lanes<T, Arch>;
  constexpr extent block = 8;
  if (beta != T{} && beta != T{1})
    for (extent j = 0; j < n; ++j) y[j] *= beta;
  bool add        = beta != T{};
  auto const next = [&](extent rows) {
    a += rows * lda;
    x += rows * step_x;
    add = true;
  };
  for (extent left = k / block; left > 0; --left, next(block))
    add_rows<std::size_t{block}, some>(n, a, lda, x, step_x, y, add);
  for (extent left = k % block; left > 0; --left, next(1)) add_rows<1, some>(n, a, lda, x, step_x, y, add);
}

/// C = A B + beta C, as `gemm` has it, if C has one row or one column and the matrix that is not a vector is
/// larger than the overhead of a call; false, and nothing done, if not. Libraries are faster for rows of less
/// than 64 elements.
template<class T>
bool product_with_vector(bool transpose_a, bool transpose_b, extent m, extent n, extent k, T const* a,
                         extent lda, T const* b, extent ldb, T beta, T* c, extent ldc) {
  constexpr extent worth_it = extent{1} << 14;
  if ((m == 1) == (n == 1) || std::max(m, n) * k < worth_it) return false;
  extent const step_a = transpose_a ? lda : 1;
  extent const step_b = transpose_b ? 1 : ldb;
  if (m == 1 && !transpose_b) sum_of_rows(k, n, b, ldb, a, step_a, beta, c);
  else if (n == 1 && transpose_a && ldc == 1) sum_of_rows(k, m, a, lda, b, step_b, beta, c);
  else if (k < 64) return false;
  else if (m == 1 && step_a == 1) rows_times_vector(n, k, b, ldb, a, beta, c, extent{1});
  else if (n == 1 && !transpose_a && step_b == 1) rows_times_vector(m, k, a, lda, b, beta, c, ldc);
  else return false;
  return true;
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
