// pow: x to the power of y.
#pragma once

#include <cmath>

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct pow_gradient_of_base : of_numbers<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    return y == V(0) ? V(0) : dz * y * std::pow(x, y - V(1));
  }
};
struct pow_gradient_of_exponent : of_numbers<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    return x == V(0) && y >= V(0) ? V(0) : dz * std::pow(x, y) * std::log(x);
  }
};

// of batches, xsimd 8 has wrong powers of 0 and infinity, and up to 200 units in the last place
struct pow : of_numbers<2> {
  static constexpr char const* name       = "pow";
  static constexpr algebra::meeting meets = algebra::meeting::nonlinear;
  static constexpr algebra::use used      = algebra::use::nonlinear;
  using gradient                          = by_operands<pow_gradient_of_base, pow_gradient_of_exponent>;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return std::pow(x, y);
  }
};

}  // namespace function

/// x to the power of y, as the standard library defines it: a negative base has powers with whole exponents.
/// Two tensors, broadcast to one another, or a tensor and a number. Nothing is sent. Gradients: dz * y *
/// pow(x, y - 1), 0 where y is 0; dz * pow(x, y) * log(x), 0 where x is 0 and y is not negative, as in
/// PyTorch. They are unreduced over the axes of the dimensions that their operand lacks.
template<class X, class Y>
  requires detail::FloatingAndOther<X, Y>
constexpr auto pow(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::pow, X, Y>>,
                "meshtf: pow needs a finished value: write pow(finish(x), y)");
  return detail::pointwise<function::pow>(x, y, at);
}

MESHTF_ACCEPT_REJECTED(pow)

}  // namespace v0
}  // namespace meshtf
