// Comparisons of elements: less less_equal greater greater_equal equal not_equal.
#pragma once

#include <source_location>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>

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
    return select(x == y, V(0), V(1));   // not x != y: xsimd 8's != on AVX-512 finds NaN equal to everything
  }
};

/// f(x, number) and f(number, x)
template<class F, class T>
struct with_number_right : of_elements<F::flops> {
  T number;
  constexpr explicit with_number_right(T n) : number(n) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return F{}(x, V(number));
  }
};
template<class F, class T>
struct with_number_left : of_elements<F::flops> {
  T number;
  constexpr explicit with_number_left(T n) : number(n) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return F{}(V(number), x);
  }
};

}  // namespace function

namespace detail {

template<class X>
concept OperandOrNumber = Operand<X> || Number<X>;

/// Two operands, or an operand and a number.
template<class X, class Y>
concept Comparable = OperandOrNumber<X> && OperandOrNumber<Y> && (Operand<X> || Operand<Y>);

template<class X>
struct compared_use : std::type_identity<use_verdict<algebra::use::compared, X>> {};
template<Number N>
struct compared_use<N> : std::type_identity<legal> {};

/// F{}(x, y) in the operands' element type. Open sums are refused: a < c and b < c do not decide whether a + b < c.
template<class F, class X, class Y>
constexpr auto compared(char const* name, std::source_location at, X const& x, Y const& y) {
  using whole = first_objection<typename compared_use<X>::type, typename compared_use<Y>::type>;
  static_assert(accepted<whole>, "meshtf: addends can't be compared: finish(x)");
  if constexpr (!accepted<whole>) {
    return rejected{};
  } else if constexpr (Number<Y>) {
    using T = element_in<X>;
    x.machine().enter(name, at);
    return each<T, shape_in<X>>(function::with_number_right<F, computed<T>>{static_cast<computed<T>>(static_cast<T>(y))}, entered(x));
  } else if constexpr (Number<X>) {
    using T = element_in<Y>;
    y.machine().enter(name, at);
    return each<T, shape_in<Y>>(function::with_number_left<F, computed<T>>{static_cast<computed<T>>(static_cast<T>(x))}, entered(y));
  } else {
    using verdict = operands_verdict<tensor_in<X>, tensor_in<Y>>;
    static_assert(accepted<verdict>, "meshtf: these operands can't be compared");
    if constexpr (accepted<verdict>) {
      x.machine().enter(name, at);
      return each<element_in<X>, broadcast_shape<shape_in<X>, shape_in<Y>>>(F{}, entered(x), entered(y));
    } else {
      return rejected{};
    }
  }
}

}  // namespace detail

// Each gives 1 where it is true and 0 where it is not, in the operands' element type, so the result can be summed, multiplied and given to
// `where`. The operands are two tensors, broadcast to one another, or a tensor and a number, which takes its element type. Nothing is sent.
// No gradient. With NaN only not_equal is true.

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto less(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::less>("less", at, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto less_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::less_equal>("less_equal", at, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto greater(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::greater>("greater", at, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto greater_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::greater_equal>("greater_equal", at, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::equal>("equal", at, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto not_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared<function::not_equal>("not_equal", at, x, y);
}

}  // namespace v0
}  // namespace meshtf
