// Mathematics of one element, under the names that batches of elements have too.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

namespace meshtf::inline v0 {

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

template<std::floating_point T>
constexpr T sqrt(T x) {
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

}  // namespace meshtf::inline v0
