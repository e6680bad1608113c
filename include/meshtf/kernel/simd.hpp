// Batches of elements: xsimd where it is installed, single elements where it is not. Nothing else includes xsimd.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

#include <meshtf/core/element.hpp>
#include <meshtf/core/math.hpp>

#if __has_include(<xsimd/xsimd.hpp>)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"   // GCC 12 warns of its own AVX-512 intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

namespace meshtf::inline v0 {
namespace kernel {

/// Elements of type `T` that are worked on at once, on architecture `Arch`; here one.
///
/// Kernels carry the architecture as a template argument, so that what two translation units compile for two processors are two functions.
template<Element T, class Arch>
struct lanes {
  using batch                = T;
  static constexpr int width = 1;
  static constexpr T load(T const* from) { return *from; }
  static constexpr void store(T const& x, T* to) { *to = x; }
  static constexpr T sum(T const& x) { return x; }
};

#if __has_include(<xsimd/xsimd.hpp>)

/// The best instructions that this translation unit is compiled for.
using default_arch = xsimd::default_arch;

/// xsimd's exp and tanh are within 1.5 units in the last place and keep infinities, NaN and the sign of 0. In float, exp is infinity from 88.38 on
/// (exactly: 88.72), and below -87.7 it is 0, never a denormal.
template<Element T, class Arch>
  requires xsimd::has_simd_register<T, Arch>::value
struct lanes<T, Arch> {
  using batch                = xsimd::batch<T, Arch>;
  static constexpr int width = static_cast<int>(batch::size);
  static batch load(T const* from) { return batch::load_unaligned(from); }
  static void store(batch const& x, T* to) { x.store_unaligned(to); }
  static T sum(batch const& x) {
    if constexpr (requires { reduce_add(x); }) return reduce_add(x);   // since xsimd 9
    else return hadd(x);
  }
};

#else

struct no_simd {};
using default_arch = no_simd;

#endif

/// A functor is called with batches only if it says so: `static constexpr bool vectorised = true;`. What a user writes as a lambda gets numbers, and the
/// compiler makes of the loop what it can.
template<class F>
concept Vectorised = requires { requires static_cast<bool>(F::vectorised); };

namespace detail {

/// The first `n` lanes from memory; the others repeat the last of them, so a functor sees no value that is not there.
template<class Lanes, class T>
typename Lanes::batch load_first(T const* from, extent n) {
  std::array<T, Lanes::width> padded;
  std::copy_n(from, n, padded.begin());
  std::fill(padded.begin() + n, padded.end(), from[n - 1]);
  return Lanes::load(padded.data());
}

template<class Lanes, class T>
void store_first(typename Lanes::batch const& x, T* to, extent n) {
  std::array<T, Lanes::width> padded;
  Lanes::store(x, padded.data());
  std::copy_n(padded.begin(), n, to);
}

}  // namespace detail

}  // namespace kernel
}  // namespace meshtf::inline v0
