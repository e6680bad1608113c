// Functions of elements: what is common to them, and those that kernels use themselves.
#pragma once

#include <meshtf/core/dim.hpp>

namespace meshtf::inline v0::function {

/// Functions that kernels may call with batches; they say how many arithmetic steps they take.
template<extent Flops>
struct of_elements {
  static constexpr bool vectorised = true;
  static constexpr extent flops    = Flops;
};

struct identity : of_elements<0> {
  constexpr auto operator()(auto const& x) const { return x; }
};
struct plus : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x + y; }
};
struct times : of_elements<1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return x * y; }
};

}  // namespace meshtf::inline v0::function
