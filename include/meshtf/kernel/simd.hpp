// Batches of elements: xsimd where it is installed, single elements where it is not. No other file includes
// xsimd.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <meshtf/core/element.hpp>
#include <meshtf/core/math.hpp>
#include <meshtf/kernel/narrow.hpp>

#if __has_include(<xsimd/xsimd.hpp>)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns about its own AVX-512 intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// An architecture on which one element is processed at a time: where there is no xsimd, and for elements
/// that are not contiguous.
struct no_simd {};

/// Elements of type `T` that are processed at once on architecture `Arch`; here one element. Narrow elements
/// that are computed with as `T` are widened when they are loaded, and rounded when they are stored.
///
/// Kernels have the architecture as a template argument, so that two translation units compiled for two
/// processors have two different functions.
template<Element T, class Arch>
struct lanes {
  using batch                = T;
  static constexpr int width = 1;
  static constexpr T load(T const* from) { return *from; }
  static constexpr void store(T const& x, T* to) { *to = x; }
  static constexpr T load(bfloat16 const* from)
    requires std::same_as<T, float>
  {
    return static_cast<T>(*from);
  }
  static constexpr void store(T const& x, bfloat16* to)
    requires std::same_as<T, float>
  {
    *to = static_cast<bfloat16>(x);
  }
  static constexpr T sum(T const& x) { return x; }
};

#if __has_include(<xsimd/xsimd.hpp>)

/// The best instruction set that this translation unit is compiled for.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && defined(__AVX512F__)
// without optimisation g++ makes AVX-512 intrinsics macros, which reject the arguments of xsimd 8.1
using default_arch = xsimd::avx2;
#else
using default_arch = xsimd::default_arch;
#endif

/// xsimd's exp and tanh are within 1.5 units in the last place and keep infinities, NaN and the sign of 0. In
/// float, exp is infinity from 88.38 on (exactly: 88.72), and below -87.7 it is 0, never a denormal.
template<Element T, class Arch>
  requires(NumberElement<T> && !NarrowElement<T> && xsimd::has_simd_register<T, Arch>::value)
struct lanes<T, Arch> {
  using batch                = xsimd::batch<T, Arch>;
  static constexpr int width = static_cast<int>(batch::size);
  static batch load(T const* from) { return batch::load_unaligned(from); }
  static void store(batch const& x, T* to) { x.store_unaligned(to); }
  static batch load(bfloat16 const* from)
    requires std::same_as<T, float>
  {
    batch x;
    detail::widen_some<static_cast<std::size_t>(width)>(from, &x);
    return x;
  }
  static void store(batch const& x, bfloat16* to)
    requires std::same_as<T, float>
  {
    detail::narrow_some<static_cast<std::size_t>(width)>(&x, to);
  }
  static T sum(batch const& x) {
    if constexpr (requires { reduce_add(x); }) return reduce_add(x);  // since xsimd 9
    else return hadd(x);
  }
};

#else

using default_arch = no_simd;

#endif

namespace detail {

/// f(0), f(1), ..., f(N - 1), with each number as a type: arrays that it indexes can stay in registers at
/// every level of optimisation.
template<std::size_t N, class F>
[[gnu::always_inline]] inline void unrolled(F const& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<N>{});
}

/// The indices of a batch's lanes.
template<class Lanes, class T>
inline constexpr auto lane_numbers = [] {
  std::array<T, Lanes::width> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i);
  return numbers;
}();

/// Loads and stores the first lanes of a batch and touches nothing after them: in one instruction where the
/// processor has one, else through a whole batch.
template<class Lanes, class T>
struct first_lanes {
  static typename Lanes::batch load(T const* from, extent n) {
    if constexpr (Lanes::width == 1) return Lanes::load(from);
    std::array<T, Lanes::width> padded;
    std::fill(std::copy_n(from, n, padded.begin()), padded.end(), *from);
    return Lanes::load(padded.data());
  }
  static void store(typename Lanes::batch const& x, T* to, extent n) {
    if constexpr (Lanes::width == 1) return Lanes::store(x, to);
    std::array<T, Lanes::width> padded;
    Lanes::store(x, padded.data());
    std::copy_n(padded.begin(), n, to);
  }
  static typename Lanes::batch take(typename Lanes::batch const& x, extent n,
                                    typename Lanes::batch const& rest) {
    using math::select;
    return select(Lanes::load(lane_numbers<Lanes, T>.data()) < typename Lanes::batch(static_cast<T>(n)), x,
                  rest);
  }
};

#if __has_include(<xsimd/xsimd.hpp>) && defined(__AVX512F__)

template<class Lanes>
  requires(Lanes::width == 16)
struct first_lanes<Lanes, float> {
  static __mmask16 mask(extent n) { return static_cast<__mmask16>((1u << n) - 1); }
  static typename Lanes::batch load(float const* from, extent n) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(*from), mask(n), from);
  }
  static void store(typename Lanes::batch const& x, float* to, extent n) {
    _mm512_mask_storeu_ps(to, mask(n), x);
  }
  static typename Lanes::batch take(typename Lanes::batch const& x, extent n,
                                    typename Lanes::batch const& rest) {
    return _mm512_mask_mov_ps(rest, mask(n), x);
  }
};
template<class Lanes>
  requires(Lanes::width == 8)
struct first_lanes<Lanes, double> {
  static __mmask8 mask(extent n) { return static_cast<__mmask8>((1u << n) - 1); }
  static typename Lanes::batch load(double const* from, extent n) {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(*from), mask(n), from);
  }
  static void store(typename Lanes::batch const& x, double* to, extent n) {
    _mm512_mask_storeu_pd(to, mask(n), x);
  }
  static typename Lanes::batch take(typename Lanes::batch const& x, extent n,
                                    typename Lanes::batch const& rest) {
    return _mm512_mask_mov_pd(rest, mask(n), x);
  }
};

#endif
#if __has_include(<xsimd/xsimd.hpp>) && defined(__AVX2__)

template<class Lanes>
  requires(Lanes::width == 8)
struct first_lanes<Lanes, float> {
  static __m256i mask(extent n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static typename Lanes::batch load(float const* from, extent n) {
    __m256i const m = mask(n);
    return _mm256_blendv_ps(_mm256_set1_ps(*from), _mm256_maskload_ps(from, m), _mm256_castsi256_ps(m));
  }
  static void store(typename Lanes::batch const& x, float* to, extent n) {
    _mm256_maskstore_ps(to, mask(n), x);
  }
  static typename Lanes::batch take(typename Lanes::batch const& x, extent n,
                                    typename Lanes::batch const& rest) {
    return _mm256_blendv_ps(rest, x, _mm256_castsi256_ps(mask(n)));
  }
};
template<class Lanes>
  requires(Lanes::width == 4)
struct first_lanes<Lanes, double> {
  static __m256i mask(extent n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static typename Lanes::batch load(double const* from, extent n) {
    __m256i const m = mask(n);
    return _mm256_blendv_pd(_mm256_set1_pd(*from), _mm256_maskload_pd(from, m), _mm256_castsi256_pd(m));
  }
  static void store(typename Lanes::batch const& x, double* to, extent n) {
    _mm256_maskstore_pd(to, mask(n), x);
  }
  static typename Lanes::batch take(typename Lanes::batch const& x, extent n,
                                    typename Lanes::batch const& rest) {
    return _mm256_blendv_pd(rest, x, _mm256_castsi256_pd(mask(n)));
  }
};

#endif

/// Loads the first `n` lanes, at least one and at most all; the others repeat the first lane, so a functor
/// sees no value that is not in memory.
template<class Lanes, class T>
[[gnu::always_inline]] inline typename Lanes::batch load_first(T const* from, extent n) {
  return first_lanes<Lanes, T>::load(from, n);
}

template<class Lanes, class T>
[[gnu::always_inline]] inline void store_first(typename Lanes::batch const& x, T* to, extent n) {
  first_lanes<Lanes, T>::store(x, to, n);
}

/// The first lanes of a batch, with the interface of `lanes`.
template<class Lanes>
struct leading_lanes {
  using batch = typename Lanes::batch;
  extent count;
  template<class T>
  batch load(T const* from) const {
    return load_first<Lanes>(from, count);
  }
  template<class T>
  void store(batch const& x, T* to) const {
    store_first<Lanes>(x, to, count);
  }
};

/// f(lanes, i) for each batch of n elements; the last batch may use leading lanes only.
template<class Lanes, class F>
[[gnu::always_inline]] inline void for_each_batch(extent n, F const& f) {
  extent i = 0;
  for (; i + Lanes::width <= n; i += Lanes::width) f(Lanes{}, i);
  if constexpr (Lanes::width > 1)
    if (i < n) f(leading_lanes<Lanes>{n - i}, i);
}

/// `x` in the first `n` lanes, `rest` in the others.
template<class Lanes, class T>
[[gnu::always_inline]] inline typename Lanes::batch first_or(typename Lanes::batch const& x, extent n,
                                                             T rest) {
  return first_lanes<Lanes, T>::take(x, n, typename Lanes::batch(rest));
}

/// Interleaves the elements of two batches: of their first halves, or of their second halves.
template<bool Second, class Lanes, class T>
[[gnu::always_inline]] inline typename Lanes::batch interleaved(typename Lanes::batch const& a,
                                                                typename Lanes::batch const& b) {
  constexpr std::size_t n    = Lanes::width;
  constexpr std::size_t from = Second ? n / 2 : 0;
  if constexpr (n == 1) {
    return Second ? b : a;
  } else {
#if __has_builtin(__builtin_shufflevector) && !defined(__ARM_FEATURE_SVE)
    using native [[gnu::vector_size(n * sizeof(T))]] = T;
    auto const x                                     = std::bit_cast<native>(a);
    auto const y                                     = std::bit_cast<native>(b);
    return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      return std::bit_cast<typename Lanes::batch>(
          static_cast<native>(__builtin_shufflevector(x, y, (from + I / 2 + I % 2 * n)...)));
    }(std::make_index_sequence<n>{});
#else
    std::array<T, n> x;
    std::array<T, n> y;
    std::array<T, n> z;
    Lanes::store(a, x.data());
    Lanes::store(b, y.data());
    for (std::size_t i = 0; i < n; ++i) z[i] = i % 2 == 0 ? x[from + i / 2] : y[from + i / 2];
    return Lanes::load(z.data());
#endif
  }
}

/// Turns the rows of a square into its columns: every row is interleaved with the row half of the rows
/// further down, until every row has met every other.
template<class Lanes, class T>
[[gnu::always_inline]] inline void transpose_square(std::array<typename Lanes::batch, Lanes::width>& rows) {
  constexpr std::size_t n = Lanes::width;
  unrolled<std::bit_width(n) - 1>([&](auto) __attribute__((always_inline)) {
    auto const row = rows;
    unrolled<n / 2>([&](auto i) __attribute__((always_inline)) {
      rows[2 * i()]     = interleaved<false, Lanes, T>(row[i()], row[i() + n / 2]);
      rows[2 * i() + 1] = interleaved<true, Lanes, T>(row[i()], row[i() + n / 2]);
    });
  });
}

}  // namespace detail

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
