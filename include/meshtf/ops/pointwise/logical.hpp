// logical_and, logical_or and logical_not: an element is true if it is not 0.
#pragma once

#include <meshtf/ops/pointwise/function_of_two.hpp>
#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct logical_and : of_elements<2> {
  static constexpr char const* name       = "logical_and";
  static constexpr algebra::meeting meets = algebra::meeting::compared;
  static constexpr algebra::use used      = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::select;
    return select(x == V(0), V(0), select(y == V(0), V(0), V(1)));
  }
};
struct logical_or : of_elements<2> {
  static constexpr char const* name       = "logical_or";
  static constexpr algebra::meeting meets = algebra::meeting::compared;
  static constexpr algebra::use used      = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x, V const& y) const {
    using math::select;
    return select(x == V(0), select(y == V(0), V(0), V(1)), V(1));
  }
};
struct logical_not : of_elements<1> {
  static constexpr char const* name  = "logical_not";
  static constexpr algebra::use used = algebra::use::compared;

  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x == V(0), V(1), V(0));
  }
};

}  // namespace function

/// Each gives 1 where it is true and 0 where it is not, in the operands' element type, as comparisons do, so
/// it takes their results and tensors of bool. An element is true if it is not 0; NaN is true. Two operands
/// are broadcast to one another. Nothing is sent. No gradient.

/// Whether both are true.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto logical_and(X const& x, Y const& y,
                           std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::logical_and, X, Y>>,
                "meshtf: logical_and needs a finished value: write logical_and(finish(x), y)");
  return detail::pointwise<function::logical_and>(x, y, at);
}

/// Whether at least one is true.
template<class X, class Y>
  requires detail::OperandAndOther<X, Y>
constexpr auto logical_or(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::of_two_verdict<function::logical_or, X, Y>>,
                "meshtf: logical_or needs a finished value: write logical_or(finish(x), y)");
  return detail::pointwise<function::logical_or>(x, y, at);
}

/// Whether it is not true.
template<detail::Operand X>
constexpr auto logical_not(X const& x, std::source_location at = std::source_location::current()) {
  static_assert(accepted<detail::use_verdict<function::logical_not::used, X>>,
                "meshtf: logical_not needs a finished value: write logical_not(finish(x))");
  return detail::pointwise<function::logical_not>(x, at);
}

MESHTF_ACCEPT_REJECTED(logical_and)
MESHTF_ACCEPT_REJECTED(logical_or)
MESHTF_ACCEPT_REJECTED(logical_not)

}  // namespace v0
}  // namespace meshtf
