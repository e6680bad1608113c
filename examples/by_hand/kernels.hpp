// What a process does alone in a training step by hand: the GEMM library and plain loops that the compiler
// turns into vector code.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cblas.h>
#if MESHTF_WITH_ONEDNN
#include <dnnl.h>
#endif

namespace by_hand {

struct release {
  void operator()(float* p) const { std::free(p); }
};

using buffer = std::unique_ptr<float[], release>;

/// Zeros, so that their pages are there before the first step; large ones in pages of 2 MiB if Linux has
/// them: what MPI copies from process to process then takes 0.7 of the time.
inline buffer floats(std::int64_t n) {
  constexpr std::size_t page = std::size_t{1} << 21;
  auto const needed          = static_cast<std::size_t>(n) * sizeof(float);
  auto const alignment       = needed < page ? 64 : page;
  auto const bytes           = (needed + alignment - 1) / alignment * alignment;
  buffer b{static_cast<float*>(std::aligned_alloc(alignment, bytes))};
  if (!b) throw std::bad_alloc{};
#ifdef MADV_HUGEPAGE
  if (alignment == page) madvise(b.get(), bytes, MADV_HUGEPAGE);
#endif
  std::fill_n(b.get(), n, 0.0f);
  return b;
}

/// A number in [-1, 1) that depends on nothing but its stream and its index in the whole array: every way to
/// split starts from the same values.
inline float random_at(std::uint64_t stream, std::int64_t index) {
  auto z = (stream << 40) + static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15u;  // splitmix64
  z      = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z      = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
}

/// c = a b, m x n from m x k and k x n, all row-major without gaps; 'T': the operand lies transposed. Small
/// products cost less through BLAS.
inline void gemm(char a_is, char b_is, int m, int n, int k, float const* a, float const* b, float* c) {
  int const lda = a_is == 'T' ? m : k;
  int const ldb = b_is == 'T' ? k : n;
#if MESHTF_WITH_ONEDNN
  if (std::int64_t{m} * n * k >= 48 * 48 * 48) {
    dnnl_sgemm(a_is, b_is, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, n);
    return;
  }
#endif
  auto const as = [](char t) { return t == 'T' ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, as(a_is), as(b_is), m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, n);
}

inline void relu(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

/// dx = 0 where the output of relu is 0.
inline void relu_gradient(float const* y, float* dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0.0f ? dx[i] : 0.0f;
}

/// exp of x <= 0, to 2 units in the last place; below -87 it is exp(-87). std::exp would be a call for every
/// element.
inline float exp_of_negative(float x) {
  x                 = x > -87.0f ? x : -87.0f;
  float const magic = 0x1.8p23f;  // adding it rounds to an integer, which stands in the low bits
  float const whole = x * 1.44269504f + magic;
  float const n     = whole - magic;
  float const r     = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p           = 1.9875691500e-4f;  // Cephes' expf
  p                 = p * r + 1.3981999507e-3f;
  p                 = p * r + 8.3334519073e-3f;
  p                 = p * r + 4.1665795894e-2f;
  p                 = p * r + 1.6666665459e-1f;
  p                 = p * r + 5.0000001201e-1f;
  p                 = p * r * r + r + 1.0f;
  return p * std::bit_cast<float>((std::bit_cast<std::int32_t>(whole) + 127) << 23);
}

/// The sum over the rows of -log softmax(logits)[label]; the logits become its gradient times `scale`.
/// `columns` is a multiple of 16: sums in 16 lanes are vector code without -ffast-math.
inline double softmax_cross_entropy(float* logits, int const* labels, int rows, int columns, float scale) {
  constexpr int lanes = 16;
  double loss         = 0;
  for (int row = 0; row < rows; ++row) {
    float* const x       = logits + std::int64_t{row} * columns;
    float const at_label = x[labels[row]];
    float peak[lanes];
    float sum[lanes] = {};
    for (int l = 0; l < lanes; ++l) peak[l] = x[l];
    for (int j = lanes; j < columns; j += lanes)
      for (int l = 0; l < lanes; ++l) peak[l] = x[j + l] > peak[l] ? x[j + l] : peak[l];
    float highest = peak[0];
    for (float const p : peak) highest = p > highest ? p : highest;

    for (int j = 0; j < columns; ++j) x[j] = exp_of_negative(x[j] - highest);
    for (int j = 0; j < columns; j += lanes)
      for (int l = 0; l < lanes; ++l) sum[l] += x[j + l];
    float total = 0;
    for (float const s : sum) total += s;

    float const each = scale / total;
    for (int j = 0; j < columns; ++j) x[j] *= each;
    x[labels[row]] -= scale;
    loss += std::log(static_cast<double>(total)) + static_cast<double>(highest - at_label);
  }
  return loss;
}

inline void descend(float* w, float const* gradient, float rate, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) w[i] -= rate * gradient[i];
}

}  // namespace by_hand
