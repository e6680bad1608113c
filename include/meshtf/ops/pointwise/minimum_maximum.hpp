// minimum and maximum of two values, element by element.
#pragma once

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// dz where x is greater or less than y; where they are equal, half of it; where one is NaN, NaN.
struct where_greater : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    using math::select;
    return select(x > y, dz, select(x == y, V(0.5) * dz, select(x < y, V(0), x + y)));
  }
};
struct where_less : of_elements<2> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& y) const {
    return where_greater{}(dz, y, x);
  }
};

struct minimum : of_elements<1> {
  static constexpr char const* name       = "minimum";
  static constexpr algebra::meeting meets = algebra::meeting::smaller;
  static constexpr algebra::use used      = algebra::use::monotone;
  using gradient                          = by_operands<where_less, where_greater>;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::select;
    return select(x < y, x, select(y == y, select(x == x, y, x), y));
  }
};

struct maximum : of_elements<1> {
  static constexpr char const* name       = "maximum";
  static constexpr algebra::meeting meets = algebra::meeting::larger;
  static constexpr algebra::use used      = algebra::use::monotone;
  using gradient                          = by_operands<where_greater, where_less>;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::select;
    return select(x > y, x, select(y == y, select(x == x, y, x), y));
  }
};

}  // namespace function

MESHTF_COMPILE_MAP(2, function::minimum)
MESHTF_COMPILE_MAP(2, function::maximum)
MESHTF_COMPILE_MAP_AND_SUM(3, function::where_greater)
MESHTF_COMPILE_MAP_AND_SUM(3, function::where_less)

/// The operands are two tensors, broadcast to one another, or a tensor and a number, which takes its element
/// type. NaN if either is NaN. Nothing is sent. Gradient: dz goes to the operand that was chosen. Where both
/// are equal each gets half of it, as in PyTorch and JAX, also where the other is a number; where one is NaN,
/// the gradients of both are NaN. It is unreduced over the axes of the dimensions that its operand lacks.

/// The smaller of the two.
template<class X, class Y>
  requires detail::NumberAndOther<X, Y>
constexpr auto minimum(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::minimum, X, Y>>,
                "meshtf: minimum needs a finished value: write minimum(finish(x), y)");
  return detail::pointwise<function::minimum>(x, y, at);
}

/// The larger of the two.
template<class X, class Y>
  requires detail::NumberAndOther<X, Y>
constexpr auto maximum(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::maximum, X, Y>>,
                "meshtf: maximum needs a finished value: write maximum(finish(x), y)");
  return detail::pointwise<function::maximum>(x, y, at);
}

MESHTF_ACCEPT_REJECTED(minimum)
MESHTF_ACCEPT_REJECTED(maximum)

}  // namespace v0
}  // namespace meshtf
