// Functions of elements: their common base, and those that many operations and kernels use.
#pragma once

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
/// A functor is called with batches only if it says so: `static constexpr bool vectorised = true;`. A user's
/// lambda is called with numbers, and the compiler vectorises the loop as well as it can.
template<class F>
concept Vectorised = requires { requires static_cast<bool>(F::vectorised); };

/// A functor of elements whose calls may run on several threads at once:
/// `static constexpr bool parallel = true;`. The library's own are; a user's lambda may count, or draw random
/// numbers, so it runs on one thread.
template<class F>
concept ParallelFunction = requires { requires static_cast<bool>(F::parallel); };

namespace function {

/// Base of functions that kernels may call with batches, and on several threads. `flops` is the number of
/// arithmetic steps.
template<extent Flops>
struct of_elements {
  static constexpr bool vectorised = true;
  static constexpr bool parallel   = true;
  static constexpr extent flops    = Flops;
};

/// Base of functions that kernels call with single numbers, because no library has them for batches or those
/// that exist are wrong somewhere.
template<extent Flops>
struct of_numbers {
  static constexpr bool vectorised = false;
  static constexpr extent flops    = Flops;
};

/// A constant as a number or a batch of numbers, rounded if these are single precision.
template<class V>
constexpr V rounded(double c) {
  if constexpr (requires { typename V::value_type; }) return V(static_cast<typename V::value_type>(c));
  else return static_cast<V>(c);
}

struct identity : of_elements<0> {
  constexpr auto operator()(auto const& x) const { return x; }
};
struct plus : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x + y; }
};
struct times : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x * y; }
};
struct negated : of_elements<1> {
  constexpr auto operator()(auto const& x) const { return -x; }
};
struct minus : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x - y; }
};
struct over : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x / y; }
};
/// x times a number, which has the element type of the tensor.
template<class T>
struct scaled : of_elements<1> {
  T factor;
  constexpr explicit scaled(T b) : factor(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x * V(factor);
  }
};

}  // namespace function

// The compiled library meets these before the kernels are defined, so there kernel/nest.hpp says it.
#define MESHTF_BASIC_FUNCTIONS                       \
  MESHTF_COMPILE_MAP_AND_SUM(1, function::identity)  \
  MESHTF_COMPILE_MAP_AND_SUM(1, function::negated)   \
  MESHTF_COMPILE_MAP_AND_SUM_OF(1, function::scaled) \
  MESHTF_COMPILE_MAP_AND_SUM(2, function::plus)      \
  MESHTF_COMPILE_MAP_AND_SUM(2, function::minus)     \
  MESHTF_COMPILE_MAP_AND_SUM(2, function::times)     \
  MESHTF_COMPILE_MAP_AND_SUM(2, function::over)
#ifndef MESHTF_COMPILED_PART
MESHTF_BASIC_FUNCTIONS
#endif
}  // namespace v0
}  // namespace meshtf
