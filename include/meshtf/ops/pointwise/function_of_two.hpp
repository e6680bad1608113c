// Pointwise functions of two operands, or of an operand and a number: what an entry defines, and how each of
// them is applied.
//
// An entry is a struct in namespace `function` that computes one element from two, or a batch of them. It
// defines its `name`; `meets` and `used`, which say how it treats two partial values, and one if the other is
// a number (plan/pending.hpp); and, if it has one, its `gradient`, `by_operands<GX, GY>`, where GX{}(dz, x,
// y) is the contribution to x and GY{}(dz, x, y) that to y.
#pragma once

#include <source_location>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/core/math.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class GX, class GY>
struct by_operands {
  using left  = GX;
  using right = GY;
};

/// f(x, number) and f(number, x); their gradients are G(dz, x, number) and G(dz, number, x).
template<class F, class T>
struct with_number_right : of_elements<F::flops> {
  static constexpr bool vectorised = F::vectorised;
  T number;
  constexpr explicit with_number_right(T n) : number(n) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return F{}(x, V(number));
  }
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    return F{}(dz, x, V(number));
  }
};
template<class F, class T>
struct with_number_left : of_elements<F::flops> {
  static constexpr bool vectorised = F::vectorised;
  T number;
  constexpr explicit with_number_left(T n) : number(n) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return F{}(V(number), x);
  }
  template<class V>
  constexpr V operator()(V const& dz, V const& x) const {
    return F{}(dz, V(number), x);
  }
};

}  // namespace function

namespace detail {

template<class X>
concept OperandOrNumber = Operand<X> || Number<X>;

/// Two operands, or an operand and a number.
template<class X, class Y>
concept OperandAndOther = OperandOrNumber<X> && OperandOrNumber<Y> && (Operand<X> || Operand<Y>);

/// The operand among them, whose element type the number takes.
template<class X, class Y>
struct operand_among : std::type_identity<X> {};
template<Number N, class Y>
struct operand_among<N, Y> : std::type_identity<Y> {};
template<class X, class Y>
using element_among = element_in<typename operand_among<X, Y>::type>;

template<class X, class Y>
concept FloatingAndOther = OperandAndOther<X, Y> && FloatingElement<element_among<X, Y>>;
template<class X, class Y>
concept NumberAndOther = OperandAndOther<X, Y> && NumberElement<element_among<X, Y>>;
template<class X, class Y>
concept IntegerAndOther = NumberAndOther<X, Y> && !FloatingElement<element_among<X, Y>>;

/// `legal`, or the objection to a partial value in f(x, y): `How` if both are operands, `One` if one of them
/// is a number.
template<algebra::meeting How, algebra::use One, class X, class Y>
struct of_two_use : std::type_identity<meeting_verdict<How, X, Y>> {};
template<algebra::meeting How, algebra::use One, class X, Number N>
struct of_two_use<How, One, X, N> : std::type_identity<use_verdict<One, X>> {};
template<algebra::meeting How, algebra::use One, Number N, class Y>
struct of_two_use<How, One, N, Y> : std::type_identity<use_verdict<One, Y>> {};
template<class F, class X, class Y>
using of_two_verdict = typename of_two_use<F::meets, F::used, X, Y>::type;

/// Puts the gradient g(dz, x) of an operand that met a number on the tape.
template<class G, class Z, class X>
constexpr void record_with_number(Z& z, X const& x, G const& g) {
  if (wants_gradient(x))
    record(z, [x = keep(x), g](auto const& dz) {
      contribute(x.target(), each<typename X::element_type, typename X::shape_type>(g, dz, x.value()));
    });
}

/// F{}(x, y) in the operands' element type. Two operands are broadcast to one another. Where a partial value
/// may not enter, the caller has reported it.
template<class F, class X, class Y>
constexpr auto of_two(char const* name, std::source_location at, X const& p, Y const& q) {
  using T               = element_among<X, Y>;
  using C               = computed<T>;
  constexpr bool sloped = requires { typename F::gradient; } && FloatingElement<T>;
  if constexpr (Number<Y>) {
    auto const& x = local_terms(p);
    auto const y  = static_cast<C>(static_cast<T>(q));
    x.machine().begin_operation(name, at);
    auto z = each<T, shape_in<X>>(function::with_number_right<F, C>{y}, x);
    if constexpr (sloped)
      record_with_number(z, x, function::with_number_right<typename F::gradient::left, C>{y});
    return z;
  } else if constexpr (Number<X>) {
    auto const& y = local_terms(q);
    auto const x  = static_cast<C>(static_cast<T>(p));
    y.machine().begin_operation(name, at);
    auto z = each<T, shape_in<Y>>(function::with_number_left<F, C>{x}, y);
    if constexpr (sloped)
      record_with_number(z, y, function::with_number_left<typename F::gradient::right, C>{x});
    return z;
  } else {
    using verdict = first_objection<operands_fit<X, Y>,
                                    elementwise_verdict<actual<layout_in<X>>, shape_in<X>, shape_in<Y>>>;
    static_assert(accepted<verdict>, "meshtf: these operands can't be joined element by element");
    if constexpr (!accepted<verdict>) {
      return rejected{};
    } else {
      auto const& x = local_terms(p);
      auto const& y = local_terms(q);
      x.machine().begin_operation(name, at);
      auto z = each<T, broadcast_shape<shape_in<X>, shape_in<Y>>>(F{}, x, y);
      if constexpr (sloped)
        if (wants_gradient(x, y))
          record(z, [x = keep(x), y = keep(y)](auto const& dz) {
            if (x.needs_gradient())
              pull_back(x.target(), 0, typename F::gradient::left{}, dz, x.value(), y.value());
            if (y.needs_gradient())
              pull_back(y.target(), 0, typename F::gradient::right{}, dz, x.value(), y.value());
          });
      return z;
    }
  }
}

/// F{}(x, y), or nothing where a partial value may not enter, which the caller has reported.
template<class F, class X, class Y>
constexpr auto pointwise(X const& x, Y const& y, std::source_location at) {
  if constexpr (accepted<of_two_verdict<F, X, Y>>) return of_two<F>(F::name, at, x, y);
  else return rejected{};
}

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
