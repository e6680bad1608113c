// floor_divide and modulo: division of integers, rounded down.
#pragma once

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// Neither traps, whatever the operands are: by 0 both are 0, as in NumPy, and the quotient of the smallest
/// integer by -1 wraps around.
struct floor_divide : of_numbers<2> {
  static constexpr char const* name       = "floor_divide";
  static constexpr algebra::meeting meets = algebra::meeting::compared;
  static constexpr algebra::use used      = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using wrapping = std::make_unsigned_t<V>;
    if (y == 0) return 0;
    if (y == -1) return static_cast<V>(wrapping{0} - static_cast<wrapping>(x));
    return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
  }
};
struct modulo : of_numbers<2> {
  static constexpr char const* name       = "modulo";
  static constexpr algebra::meeting meets = algebra::meeting::compared;
  static constexpr algebra::use used      = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    if (y == 0 || y == -1) return 0;
    V const rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
};

}  // namespace function

/// The operands are two tensors of integers, broadcast to one another, or a tensor and a number, which takes
/// its element type. Nothing is sent. No gradient.

/// The quotient, rounded down: floor_divide(-7, 2) is -4. By 0 it is 0, as in NumPy.
template<class X, class Y>
  requires detail::IntegerAndOther<X, Y>
constexpr auto floor_divide(X const& x, Y const& y,
                            std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::floor_divide, X, Y>>,
                "meshtf: floor_divide needs a finished value: write floor_divide(finish(x), y)");
  return detail::pointwise<function::floor_divide>(x, y, at);
}

/// x - y * floor_divide(x, y), which has the sign of y: modulo(-7, 2) is 1. By 0 it is 0, as in NumPy.
template<class X, class Y>
  requires detail::IntegerAndOther<X, Y>
constexpr auto modulo(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::modulo, X, Y>>,
                "meshtf: modulo needs a finished value: write modulo(finish(x), y)");
  return detail::pointwise<function::modulo>(x, y, at);
}

MESHTF_ACCEPT_REJECTED(floor_divide)
MESHTF_ACCEPT_REJECTED(modulo)

}  // namespace v0
}  // namespace meshtf
