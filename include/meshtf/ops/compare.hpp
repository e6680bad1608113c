// Comparisons of elements: less less_equal greater greater_equal equal not_equal.
#pragma once

#include <source_location>

#include <meshtf/ops/arithmetic.hpp>
#include <meshtf/tensor/local.hpp>

namespace meshtf::inline v0 {

namespace function {

/// 1 where it is true and 0 where not.
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
    return select(x == y, V(0), V(1));   // also of NaN: xsimd 8's != of AVX-512 finds it equal to everything
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

template<class F, class T, class L, class... X, class U, class R, class... Y>
constexpr auto compared(char const* name, std::source_location at, F const& f, tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y) {
  using verdict = operands_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>;
  static_assert(accepted<verdict>, "meshtf: these operands can't be compared");
  if constexpr (!accepted<verdict>) {
    return rejected{};
  } else {
    x.machine().enter(name, at);
    return each<T, broadcast_shape<shape<X...>, shape<Y...>>>(f, x, y);
  }
}
template<class F, class T, class L, class... X, Number N>
constexpr auto compared(char const* name, std::source_location at, F const&, tensor<T, L, X...> const& x, N y) {
  x.machine().enter(name, at);
  return each<T, shape<X...>>(function::with_number_right<F, T>{static_cast<T>(y)}, x);
}
template<class F, class T, class L, class... Y, Number N>
constexpr auto compared(char const* name, std::source_location at, F const&, N x, tensor<T, L, Y...> const& y) {
  y.machine().enter(name, at);
  return each<T, shape<Y...>>(function::with_number_left<F, T>{static_cast<T>(x)}, y);
}

// whether a + b < c can't be said from whether a < c and b < c
template<class F, class V, class Over, class Y>
constexpr V compared(char const*, std::source_location, F const&, partial<V, Over> const& x, Y const&) {
  static_assert(accepted<detail::use_verdict<algebra::use::compared, partial<V, Over>>>, "meshtf: addends can't be compared: finish(x)");
  return x.addend();
}
template<class F, class V, class Over, class X>
  requires(Tensor<X> || Number<X>)
constexpr V compared(char const*, std::source_location, F const&, X const&, partial<V, Over> const& y) {
  static_assert(accepted<detail::use_verdict<algebra::use::compared, partial<V, Over>>>, "meshtf: addends can't be compared: finish(y)");
  return y.addend();
}

template<class V, class Over>
void take_open_sum(partial<V, Over> const&);
template<class X>
concept OpenSum = requires(X const& x) { detail::take_open_sum(x); };

/// A tensor (or an open sum, to be told that it isn't one) and another or a number.
template<class X, class Y>
concept Comparable = (!Number<X> || !Number<Y>) && (Number<X> || Tensor<X> || OpenSum<X>) && (Number<Y> || Tensor<Y> || OpenSum<Y>);

}  // namespace detail

// Each gives 1 where it is true and 0 where not, in the operands' element type, so that it can be summed, multiplied and given to `where`. The operands are two
// tensors, broadcast to one another, or a tensor and a number, which takes its element type. Nothing is sent. No gradient. With NaN only not_equal is true.

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto less(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("less", at, function::less{}, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto less_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("less_equal", at, function::less_equal{}, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto greater(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("greater", at, function::greater{}, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto greater_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("greater_equal", at, function::greater_equal{}, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("equal", at, function::equal{}, x, y);
}

template<class X, class Y>
  requires detail::Comparable<X, Y>
constexpr auto not_equal(X const& x, Y const& y, std::source_location at = std::source_location::current()) {
  return detail::compared("not_equal", at, function::not_equal{}, x, y);
}

}  // namespace meshtf::inline v0
