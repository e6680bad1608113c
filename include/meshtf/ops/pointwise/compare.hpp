// Comparisons of elements: less less_equal greater greater_equal equal not_equal.
#pragma once

#include <source_location>

#include <meshtf/ops/pointwise/function_of_two.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// 1 where the condition is true, 0 where it is not.
template<class V, class Condition>
constexpr V as_number(Condition const& is_true) {
  using math::select;
  return select(is_true, V(1), V(0));
}

struct less : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return as_number<V>(x < y);
  }
};
struct less_equal : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return as_number<V>(x <= y);
  }
};
struct greater : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return as_number<V>(x > y);
  }
};
struct greater_equal : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return as_number<V>(x >= y);
  }
};
struct equal : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    return as_number<V>(x == y);
  }
};
struct not_equal : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::select;
    return select(x == y, V(0), V(1));  // not x != y: xsimd 8's != on AVX-512 finds NaN equal to everything
  }
};

}  // namespace function

namespace detail {

/// F{}(x, y) in the operands' element type. Partial sums are refused: a < c and b < c do not decide whether a
/// + b < c.
template<class F, class X, class Y>
constexpr auto compared(char const* name, std::source_location at, X const& x, Y const& y) {
  using whole = typename of_two_use<algebra::meeting::compared, algebra::use::compared, X, Y>::type;
  static_assert(accepted<whole>, "meshtf: a comparison needs finished values: write finish(x)");
  if constexpr (accepted<whole>) return of_two<F>(name, at, x, y);
  else return rejected{};
}

}  // namespace detail

/// Each gives 1 where it is true and 0 where it is not, in the operands' element type, so the result can be
/// summed, multiplied and given to `where`. The operands are two tensors, broadcast to one another, or a
/// tensor and a number, which takes its element type. Nothing is sent. No gradient. With NaN only not_equal
/// is true.

/// x < y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto less(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::less>("less", at, x, y);
}

/// x <= y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto less_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::less_equal>("less_equal", at, x, y);
}

/// x > y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto greater(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::greater>("greater", at, x, y);
}

/// x >= y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto greater_equal(X const& x, Y const& y,
                             std::source_location at = std::source_location::current()) {
  return detail::compared<function::greater_equal>("greater_equal", at, x, y);
}

/// x == y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::equal>("equal", at, x, y);
}

/// x != y, element by element, of tensors or of a tensor and a number.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto not_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::not_equal>("not_equal", at, x, y);
}

MESHTF_ACCEPT_REJECTED(less)
MESHTF_ACCEPT_REJECTED(less_equal)
MESHTF_ACCEPT_REJECTED(greater)
MESHTF_ACCEPT_REJECTED(greater_equal)
MESHTF_ACCEPT_REJECTED(equal)
MESHTF_ACCEPT_REJECTED(not_equal)

}  // namespace v0
}  // namespace meshtf
