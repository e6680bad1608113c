// Matrix products of float and double: the one place that calls BLAS and oneDNN, except for
// narrow_product.hpp and convolution.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include <meshtf/core/element.hpp>
#include <meshtf/kernel/blas_kernel.hpp>
#include <meshtf/kernel/one_row.hpp>
#include <meshtf/kernel/parallel.hpp>

// OpenBLAS declares a global `bfloat16`, which would be ambiguous in programs that say
// `using namespace meshtf`.
#define bfloat16 blas_bfloat16
#include <cblas.h>
#undef bfloat16

#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
#include <dnnl.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

inline std::mutex one_caller_of_blas;

/// To be held while BLAS is called: keeps the threads of this process apart where BLAS can't do so itself.
inline std::unique_lock<std::mutex> call_of_blas() {
  static bool const alone = blas_is_for_one_thread();
  if (alone && thread_count() > 1) return std::unique_lock{one_caller_of_blas};
  return {};
}

/// BLAS counts in int.
inline int blas_int(extent n) {
  if (n > std::numeric_limits<int>::max())
    throw std::length_error("meshtf: BLAS can't count the " + std::to_string(n) +
                            " rows or columns of this matrix: split the dimension over more processes");
  return static_cast<int>(n);
}

constexpr CBLAS_TRANSPOSE blas_transpose(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

template<FloatingElement T>
T blas_dot(extent n, T const* x, extent step_x, T const* y, extent step_y) {
  if constexpr (std::same_as<T, float>)
    return cblas_sdot(blas_int(n), x, blas_int(step_x), y, blas_int(step_y));
  else return cblas_ddot(blas_int(n), x, blas_int(step_x), y, blas_int(step_y));
}

/// y = A x + beta y, where A has m rows and n columns in memory, before `transpose`.
template<FloatingElement T>
void blas_gemv(bool transpose, extent m, extent n, T const* a, extent lda, T const* x, extent step_x, T beta,
               T* y, extent step_y) {
  // Not left to BLAS: some releases of OpenBLAS multiply the old content of y by 0, and 0 * NaN is NaN.
  if (beta == T{0}) {
    for (extent i = 0, rows = transpose ? n : m; i < rows; ++i) y[i * step_y] = T{0};
    beta = T{1};
  }
  auto const rows    = blas_int(m);
  auto const columns = blas_int(n);
  auto const row     = blas_int(lda);
  auto const over_x  = blas_int(step_x);
  auto const over_y  = blas_int(step_y);
  auto const t       = blas_transpose(transpose);
  if constexpr (std::same_as<T, float>)
    cblas_sgemv(CblasRowMajor, t, rows, columns, 1, a, row, x, over_x, beta, y, over_y);
  else cblas_dgemv(CblasRowMajor, t, rows, columns, 1, a, row, x, over_x, beta, y, over_y);
}

}  // namespace detail

/// The number of strips of rows that a product is cut into; they are shared by the threads. Strips depend on
/// the shape alone: libraries choose their blocks by the size of a product, so an element of another strip,
/// or of the whole, may be rounded otherwise, and libraries' own threads may round otherwise at each number
/// of them.
///
/// Each strip packs all of B again, also on one thread. So there are four, of at least 96 rows, or more of at
/// least 512: together they take 0 to 3 % more time than the whole (9 % in the worst of twelve shapes; with
/// eight strips of 128 to 256 rows it was up to 17 %).
constexpr extent strips_of(extent m, extent n, extent k) {
  constexpr extent worth_it = extent{1} << 21;  // multiplications that take some 40 us
  if (m < 2 * 96 || m * n * k < worth_it) return 1;
  auto const strips = static_cast<std::uint64_t>(std::max(std::min<extent>(4, m / 96), m / 512));
  return std::min(max_parts, static_cast<extent>(std::bit_floor(strips)));
}

namespace detail {

/// Whether a product of floats is left to BLAS though oneDNN is there.
///
/// Without AVX-512, oneDNN (2.6, and before) multiplies without packing its operands if
/// 1 / m + 1 / n >= 0.0038 (its `nocopy_checker_avx2`), as in most strips: of 512 x 512 elements, or of 256
/// rows. From operands whose rows are powers of two apart it then reads the same sets of the cache again and
/// again. On a Zen 3, in Gflop/s: 512 x 512 x 2048 with A transposed 38, BLAS 88; 512 x 512 x 512 without 55,
/// BLAS 72. Small products fit in the cache, and there oneDNN is the faster one.
inline bool blas_is_faster(extent m, extent n, extent k) {
#if defined(__x86_64__) && defined(__GNUC__)
  static bool const may_be = __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512f") &&
                             blas_kernel_name() != "" && !blas_kernel_is_generic() &&
                             !blas_is_for_one_thread();
  constexpr extent large = extent{1} << 25;
  return may_be && m * n * k >= large && 1 / double(m) + 1 / double(n) >= 0.0038;
#else
  return static_cast<void>(m), static_cast<void>(n), static_cast<void>(k), false;
#endif
}

/// `gemm` on the thread that calls it.
template<FloatingElement T>
void gemm_of_strip(bool transpose_a, bool transpose_b, extent m, extent n, extent k, T const* a, extent lda,
                   T const* b, extent ldb, T beta, T* c, extent ldc) {
  if (product_with_vector(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc)) return;
#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
  if constexpr (std::same_as<T, float>) {
    // A call of oneDNN has an overhead of 0.4 us, BLAS with the right kernels one of 0.05 us; both do
    // 48x48x48 in 2 us.
    static extent const worth_it = blas_kernel_is_generic() ? 12 * 12 * 12 : 48 * 48 * 48;
    if (m * n * k >= worth_it && !blas_is_faster(m, n, k)) {
      if (dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb, beta, c,
                     ldc) != dnnl_success)
        throw std::runtime_error("meshtf: oneDNN refused a matrix product (dnnl_sgemm)");
      return;
    }
  }
#endif
  auto const call     = call_of_blas();
  extent const step_a = transpose_a ? lda : 1;
  extent const step_b = transpose_b ? 1 : ldb;
  if (m == 1 && n == 1) {
    T const sum = blas_dot(k, a, step_a, b, step_b);
    *c          = beta == T{0} ? sum : sum + beta * *c;
  } else if (m == 1) {
    blas_gemv(!transpose_b, transpose_b ? n : k, transpose_b ? k : n, b, ldb, a, step_a, beta, c, extent{1});
  } else if (n == 1) {
    blas_gemv(transpose_a, transpose_a ? k : m, transpose_a ? m : k, a, lda, b, step_b, beta, c, ldc);
  } else {
    auto const rows    = blas_int(m);
    auto const columns = blas_int(n);
    auto const inner   = blas_int(k);
    auto const row_a   = blas_int(lda);
    auto const row_b   = blas_int(ldb);
    auto const row_c   = blas_int(ldc);
    auto const ta      = blas_transpose(transpose_a);
    auto const tb      = blas_transpose(transpose_b);
    if constexpr (std::same_as<T, float>)
      cblas_sgemm(CblasRowMajor, ta, tb, rows, columns, inner, 1, a, row_a, b, row_b, beta, c, row_c);
    else cblas_dgemm(CblasRowMajor, ta, tb, rows, columns, inner, 1, a, row_a, b, row_b, beta, c, row_c);
  }
}

}  // namespace detail

/// C = A B + beta C, all row-major with `ld` elements from row to row. A is m by k, or k by m if
/// `transpose_a`; B is k by n, or n by k if `transpose_b`. The bits do not depend on the number of threads.
template<FloatingElement T>
void gemm(bool transpose_a, bool transpose_b, extent m, extent n, extent k, T const* a, extent lda,
          T const* b, extent ldb, T beta, T* c, extent ldc) {
  constexpr extent grain = 16;  // rows of a tile of the libraries' kernels
  extent const strips    = strips_of(m, n, k);
  if (strips == 1)
    return detail::gemm_of_strip(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
  parallel_parts(strips, [&](extent part, int) {
    auto const [begin, end] = range_of_part(m, grain, strips, part);
    detail::gemm_of_strip(transpose_a, transpose_b, end - begin, n, k, a + begin * (transpose_a ? 1 : lda),
                          lda, b, ldb, beta, c + begin * ldc, ldc);
  });
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
