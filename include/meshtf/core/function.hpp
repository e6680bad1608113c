// Functions of elements: their common base, and those that many operations and kernels use.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {
namespace function {

/// Base of functions that kernels may call with batches. `flops` is the number of arithmetic steps.
template<extent Flops>
struct of_elements {
  static constexpr bool vectorised = true;
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
  T by;
  constexpr explicit scaled(T b) : by(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x * V(by);
  }
};

}  // namespace function
}  // namespace v0
}  // namespace meshtf
