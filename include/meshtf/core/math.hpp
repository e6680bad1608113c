// Mathematics of one element, under the names that batches of elements have too.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The square root to the last bit, as the processor rounds it. x is n * 4^k with n of 53 or 54 bits, whose root is found bit by bit, with one bit more than
/// a double has, to round by: where that bit is set something remains, so there is no tie.
constexpr double constant_sqrt(double x) {
  if (!(x > 0)) return x == 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (x > std::numeric_limits<double>::max()) return x;
  double scale = 0x1p-26;
  for (; x < 0x1p52; x *= 4) scale /= 2;
  for (; x >= 0x1p54; x /= 4) scale *= 2;
  auto const n       = static_cast<std::uint64_t>(x);
  std::uint64_t root = 0, rest = 0;
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

/// A functor that says `using math::exp; return exp(x);` works on a number and on a batch of them: the batch's own function is found by argument-dependent
/// lookup, in whatever library it comes from.
namespace math {

template<std::floating_point T>
constexpr T exp(T x) {
  return std::exp(x);
}

template<std::floating_point T>
constexpr T log(T x) {
  return std::log(x);
}

/// Of a number it is a constant expression, which std::sqrt is not in C++20: what a step computes with it can be dry-run by every compiler.
template<std::floating_point T>
constexpr T sqrt(T x) {
  if constexpr (sizeof(T) <= sizeof(double))
    if (std::is_constant_evaluated()) return static_cast<T>(meshtf::detail::constant_sqrt(static_cast<double>(x)));
  return std::sqrt(x);
}

template<std::floating_point T>
constexpr T tanh(T x) {
  return std::tanh(x);
}

template<class T>
  requires std::is_arithmetic_v<T>
constexpr T abs(T x) {
  return std::abs(x);
}

/// The second where one of the two is not a number, as the processor's instruction does it: `max(0, x)` hands a NaN on.
template<class T>
  requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) {
  return a > b ? a : b;
}

/// The second where one of the two is not a number.
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

/// 1 / sqrt(x) of numbers and batches alike: to the last bits, which the processor's estimate is not.
template<class T>
constexpr T reciprocal_sqrt(T const& x) {
  return T(1) / sqrt(x);
}

}  // namespace math

}  // namespace v0
}  // namespace meshtf
