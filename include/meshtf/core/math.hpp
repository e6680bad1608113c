// Mathematics of one element, under the names that batches of elements use too.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The correctly rounded square root, equal to the processor's. x is n * 4^k, where n has 53 or 54 bits. The
/// root of n is found bit by bit, with one bit more than a double has, which decides the rounding: if that
/// bit is set there is a remainder, so there is no tie.
constexpr double constant_sqrt(double x) {
  if (!(x > 0)) return x == 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (x > std::numeric_limits<double>::max()) return x;
  double scale = 0x1p-26;
  for (; x < 0x1p52; x *= 4) scale /= 2;
  for (; x >= 0x1p54; x /= 4) scale *= 2;
  auto const n       = static_cast<std::uint64_t>(x);
  std::uint64_t root = 0;
  std::uint64_t rest = 0;
  for (int pair = 53; pair >= 0; --pair) {  // 27 pairs of bits of n, then as many of zeros
    rest = rest * 4 + (pair >= 27 ? n >> (2 * (pair - 27)) & 3 : 0);
    root *= 2;
    if (rest > 2 * root) {
      rest -= 2 * root + 1;
      ++root;
    }
  }
  return static_cast<double>(root / 2 + root % 2) * scale;
}

}  // namespace detail

/// A functor that says `using math::exp; return exp(x);` works on a number and on a batch: argument-dependent
/// lookup finds the batch's own function, whatever library it comes from.
namespace math {

template<std::floating_point T>
constexpr T exp(T x) {
  return std::exp(x);
}

template<std::floating_point T>
constexpr T log(T x) {
  return std::log(x);
}

/// For a number this is a constant expression, which std::sqrt is not in C++20, so every compiler can dry-run
/// a step that uses it.
template<std::floating_point T>
constexpr T sqrt(T x) {
  if constexpr (sizeof(T) <= sizeof(double))
    if (std::is_constant_evaluated())
      return static_cast<T>(meshtf::detail::constant_sqrt(static_cast<double>(x)));
  return std::sqrt(x);
}

template<std::floating_point T>
constexpr T tanh(T x) {
  return std::tanh(x);
}

template<std::floating_point T>
constexpr T sin(T x) {
  return std::sin(x);
}

template<std::floating_point T>
constexpr T cos(T x) {
  return std::cos(x);
}

template<std::floating_point T>
constexpr T log1p(T x) {
  return std::log1p(x);
}

template<std::floating_point T>
constexpr T expm1(T x) {
  return std::expm1(x);
}

template<std::floating_point T>
constexpr T erfc(T x) {
  return std::erfc(x);
}

template<std::floating_point T>
constexpr T floor(T x) {
  return std::floor(x);
}

template<std::floating_point T>
constexpr T ceil(T x) {
  return std::ceil(x);
}

/// The nearest integer; of two, the even one.
template<std::floating_point T>
constexpr T nearbyint(T x) {
  return std::nearbyint(x);
}

template<class T>
  requires std::is_arithmetic_v<T>
constexpr T abs(T x) {
  return std::abs(x);
}

/// Returns the second if either is NaN, as the processor's instruction does: `max(0, x)` propagates a NaN.
template<class T>
  requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) {
  return a > b ? a : b;
}

/// Returns the second if either is NaN.
template<class T>
  requires std::is_arithmetic_v<T>
constexpr T min(T a, T b) {
  return a < b ? a : b;
}

template<class T>
  requires std::is_arithmetic_v<T>
constexpr T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

/// 1 / sqrt(x) of numbers and batches alike, accurate to the last bits, unlike the processor's estimate.
template<class T>
constexpr T reciprocal_sqrt(T const& x) {
  return T(1) / sqrt(x);
}

/// The gradient of a piece that is constant: 0, but NaN where x is NaN.
///
/// What all gradients have in common: where the value of a function is NaN, its gradient is NaN too, whatever
/// dz is. Functions whose slope is computed from their operand or result have that by themselves; those that
/// choose a slope by comparing say it with this, since every comparison with a NaN is false.
template<class V>
constexpr V zero_or_nan(V const& x) {
  return select(x == x, V(0), x);
}

}  // namespace math

}  // namespace v0
}  // namespace meshtf
