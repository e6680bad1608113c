// + - * / of tensors, partial sums and numbers.
#pragma once

#include <meshtf/core/function.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct shifted : of_elements<1> {
  T shift;
  constexpr explicit shifted(T b) : shift(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x + V(shift);
  }
};

template<class T>
struct subtracted_from : of_elements<1> {
  T from;
  constexpr explicit subtracted_from(T f) : from(f) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return V(from) - x;
  }
};

template<class T>
struct divided_by : of_elements<1> {
  T divisor;
  constexpr explicit divided_by(T b) : divisor(b) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return x / V(divisor);
  }
};

template<class T>
struct dividing : of_elements<1> {
  T dividend;
  constexpr explicit dividing(T w) : dividend(w) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    return V(dividend) / x;
  }
};

struct quotient_gradient : of_elements<3> {  // of x / y with respect to y, from its result z
  constexpr auto operator()(auto const& dz, auto const& z, auto const& y) const { return -(dz * z / y); }
};

struct reciprocal_gradient : of_elements<3> {  // of c / x with respect to x, from its result z
  constexpr auto operator()(auto const& dz, auto const& z, auto const& x) const { return -(dz * z / x); }
};

}  // namespace function

MESHTF_COMPILE_MAP_OF(1, function::shifted)
MESHTF_COMPILE_MAP_OF(1, function::subtracted_from)
MESHTF_COMPILE_MAP_OF(1, function::divided_by)
MESHTF_COMPILE_MAP_OF(1, function::dividing)
MESHTF_COMPILE_MAP_AND_SUM(3, function::quotient_gradient)
MESHTF_COMPILE_MAP(3, function::reciprocal_gradient)

namespace detail {

/// Whether these two tensors can be joined element by element, also with operands of the shapes `More...`
/// before them.
template<class X, class Y, class... More>
using operands_verdict =
    first_objection<fit_verdict<X, Y>, elementwise_verdict<actual<typename X::layout_type>, More...,
                                                           typename X::shape_type, typename Y::shape_type>>;

/// How two operands meet, after tensors of the shapes `More...`: the shape of the result, and whether they
/// may meet. A partial sum and a tensor, or two partial sums, are objected to where the sum of the processes'
/// results would not be the result of their sum.
template<algebra::meeting How, class X, class Y, class... More>
struct meeting_of {
  using out  = broadcast_shape<More..., shape_in<X>, shape_in<Y>>;
  using over = union_of<layout_in<X>, unreduced_axes_in<X>, unreduced_axes_in<Y>>;
  using verdict =
      first_objection<meeting_verdict<How, X, Y>, operands_verdict<tensor_in<X>, tensor_in<Y>, More...>,
                      partial_sum_verdict<layout_in<X>, out, over>>;
};

/// x + y or x - y, as `F` says; the gradient of y is `Sign` of dz. Of two partial sums, each counts once
/// along the axes over which only the other one is unreduced.
template<class F, class Sign, Operand P, Operand Q>
constexpr auto added(char const* name, std::source_location at, P const& p, Q const& q) {
  local_terms(p).machine().begin_operation(name, at);
  auto const add = [](auto const& x, auto const& y) {
    auto z = each<element_in<P>, broadcast_shape<shape_in<P>, shape_in<Q>>>(F{}, x, y);
    if (wants_gradient(x, y))
      record(z, [x = x.without_value(), y = y.without_value()](auto const& dz) {
        if (x.needs_gradient()) pull_back(x, 0, function::identity{}, dz);
        if (y.needs_gradient()) pull_back(y, 0, Sign{}, dz);
      });
    return z;
  };
  if constexpr (PartialSum<P>) {
    axis_set const unreduced = p.owed() | q.owed();
    auto const x             = local_terms_over(p, unreduced);
    auto const y             = local_terms_over(q, unreduced);
    return result_of<axes<>, P, Q>(add(x, y), unreduced);
  } else {
    return add(local_terms(p), local_terms(q));
  }
}

}  // namespace detail

/// Two operands are broadcast to one another by the names of their dimensions. If one has all dimensions of
/// the other, the result has its order (the left's if both have the same dimensions). If they share none, the
/// result has the left's dimensions, then the right's. Otherwise write broadcast<D...>(x). Nothing is sent; a
/// gradient is unreduced over the axes of the dimensions that its operand lacks. Two partial sums add up to
/// one over the axes of both. A partial sum times a tensor, or divided by one, stays unreduced; the tensor's
/// gradient is then computed from a partial sum and is unreduced over the same axes. Source of the rules for
/// partial sums: the algebra of pending values in PyTorch's DTensor and OneFlow's SBP (plan/pending.hpp).

/// x + y, element by element; of partial sums a partial sum.
template<detail::Operand X, detail::Operand Y>
constexpr auto operator+(X const& x, Y const& y) {
  using meets = detail::meeting_of<algebra::meeting::plus, X, Y>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not added: cast<int>(x) first");
  if constexpr (detail::PartialSum<X> != detail::PartialSum<Y>)
    static_assert(accepted<typename meets::verdict>,
                  "meshtf: each process adds x: write p + as_partial<...>(x), free");
  else static_assert(accepted<typename meets::verdict>, "meshtf: operator+ can't join these operands");
  if constexpr (accepted<typename meets::verdict>)
    return detail::added<function::plus, function::identity>("operator+", {}, x, y);
  else return detail::rejected{};
}

/// x - y, element by element; of partial sums a partial sum.
template<detail::Operand X, detail::Operand Y>
constexpr auto operator-(X const& x, Y const& y) {
  using meets = detail::meeting_of<algebra::meeting::minus, X, Y>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not subtracted: cast<int>(x) first");
  if constexpr (detail::PartialSum<X> != detail::PartialSum<Y>)
    static_assert(accepted<typename meets::verdict>,
                  "meshtf: each process subtracts x: write p - as_partial<...>(x), free");
  else static_assert(accepted<typename meets::verdict>, "meshtf: operator- can't join these operands");
  if constexpr (accepted<typename meets::verdict>)
    return detail::added<function::minus, function::negated>("operator-", {}, x, y);
  else return detail::rejected{};
}

/// x * y, element by element; a partial sum times a tensor stays unreduced.
template<detail::Operand X, detail::Operand Y>
constexpr auto operator*(X const& p, Y const& q) {
  using meets = detail::meeting_of<algebra::meeting::times, X, Y>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not multiplied: cast<int>(x) first");
  if constexpr (detail::PartialSum<X> && detail::PartialSum<Y>)
    static_assert(accepted<typename meets::verdict>,
                  "meshtf: operator* can't multiply two partial sums: write finish(p) * q");
  else static_assert(accepted<typename meets::verdict>, "meshtf: operator* can't join these operands");
  if constexpr (!accepted<typename meets::verdict>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(p);
    auto const& y = detail::local_terms(q);
    x.machine().begin_operation("operator*");
    auto z = detail::each<detail::element_in<X>, typename meets::out>(function::times{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = detail::keep(x, y.needs_gradient()), y = detail::keep(y, x.needs_gradient()),
                         x_unreduced = detail::unreduced_axes_of(p),
                         y_unreduced = detail::unreduced_axes_of(q)](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x.target(), y_unreduced, function::times{}, dz, y.value());
        if (y.needs_gradient()) detail::pull_back(y.target(), x_unreduced, function::times{}, dz, x.value());
      });
    return detail::result_of<axes<>, X, Y>(std::move(z),
                                           detail::unreduced_axes_of(p) | detail::unreduced_axes_of(q));
  }
}

/// x / y, element by element, for floating point elements; a partial sum divided by a tensor stays unreduced.
template<detail::Operand X, detail::Operand Y>
constexpr auto operator/(X const& p, Y const& q) {
  using meets = detail::meeting_of<algebra::meeting::over, X, Y>;
  static_assert(detail::FloatingOperand<X>,
                "meshtf: operator/ is for floating point elements: cast<float>(x) first");
  if constexpr (detail::PartialSum<Y>)
    static_assert(accepted<typename meets::verdict>,
                  "meshtf: operator/ needs a finished divisor: write x / finish(p)");
  else static_assert(accepted<typename meets::verdict>, "meshtf: operator/ can't join these operands");
  if constexpr (!accepted<typename meets::verdict>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(p);
    auto const& y = detail::local_terms(q);
    x.machine().begin_operation("operator/");
    auto z = detail::each<detail::element_in<X>, typename meets::out>(function::over{}, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = detail::keep(y), z = detail::keep(z, y.needs_gradient()),
                         x_unreduced = detail::unreduced_axes_of(p)](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, 0, function::over{}, dz, y.value());
        if (y.needs_gradient())
          detail::pull_back(y.target(), x_unreduced, function::quotient_gradient{}, dz, z.value(), y.value());
      });
    return detail::result_of<axes<>, X, Y>(std::move(z), detail::unreduced_axes_of(p));
  }
}

// ---- one operand, and a number

/// The negated elements; of a partial sum a partial sum.
template<detail::Operand X>
constexpr auto operator-(X const& x) {
  return detail::linearly<algebra::use::negated>(x, [](auto const& a) {
    return detail::linear_function("operator-", {}, function::negated{}, function::negated{}, a);
  });
}

template<detail::Operand X, Number N>
constexpr auto operator*(X const& x, N c) {
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not multiplied: cast<int>(x) first");
  using T = computed<detail::element_in<X>>;
  function::scaled<T> const f{static_cast<T>(c)};
  return detail::linearly<algebra::use::scaled>(
      x, [f](auto const& a) { return detail::linear_function("operator*", {}, f, f, a); });
}
template<Number N, detail::Operand X>
constexpr auto operator*(N c, X const& x) {
  return x * c;
}

template<detail::Operand X, Number N>
constexpr auto operator/(X const& x, N c) {
  using T = computed<detail::element_in<X>>;
  static_assert(FloatingElement<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
  function::divided_by<T> const f{static_cast<T>(c)};
  return detail::linearly<algebra::use::scaled>(
      x, [f](auto const& a) { return detail::linear_function("operator/", {}, f, f, a); });
}

template<detail::Operand X, Number N>
constexpr auto operator+(X const& x, N c) {
  using T       = computed<detail::element_in<X>>;
  using verdict = detail::use_verdict<algebra::use::shifted, X>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not added: cast<int>(x) first");
  static_assert(accepted<verdict>, "meshtf: operator+ would add c once on each process: write finish(p) + c");
  if constexpr (accepted<verdict>)
    return detail::linear_function("operator+", {}, function::shifted<T>{static_cast<T>(c)},
                                   function::identity{}, detail::local_terms(x));
  else return detail::rejected{};
}
template<Number N, detail::Operand X>
constexpr auto operator+(N c, X const& x) {
  return x + c;
}

template<detail::Operand X, Number N>
constexpr auto operator-(X const& x, N c) {
  using T       = computed<detail::element_in<X>>;
  using verdict = detail::use_verdict<algebra::use::shifted, X>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not added: cast<int>(x) first");
  static_assert(accepted<verdict>, "meshtf: operator- would add c once on each process: write finish(p) - c");
  if constexpr (accepted<verdict>)
    return detail::linear_function("operator-", {}, function::shifted<T>{static_cast<T>(-static_cast<T>(c))},
                                   function::identity{}, detail::local_terms(x));
  else return detail::rejected{};
}
template<Number N, detail::Operand X>
constexpr auto operator-(N c, X const& x) {
  using T       = computed<detail::element_in<X>>;
  using verdict = detail::use_verdict<algebra::use::subtracted, X>;
  static_assert(NumberElement<detail::element_in<X>>, "meshtf: bools are not subtracted: cast<int>(x) first");
  static_assert(accepted<verdict>, "meshtf: operator- would add c once on each process: write c - finish(p)");
  if constexpr (accepted<verdict>)
    return detail::linear_function("operator-", {}, function::subtracted_from<T>{static_cast<T>(c)},
                                   function::negated{}, detail::local_terms(x));
  else return detail::rejected{};
}

template<Number N, detail::Operand X>
constexpr auto operator/(N c, X const& operand) {
  using T       = detail::element_in<X>;
  using dims    = detail::shape_in<X>;
  using verdict = detail::use_verdict<algebra::use::divisor, X>;
  static_assert(accepted<verdict>, "meshtf: operator/ needs a finished divisor: write c / finish(p)");
  static_assert(FloatingElement<T>, "meshtf: operator/ is for floating point elements: cast<float>(x) first");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("operator/");
    auto z = detail::each<T, dims>(function::dividing<computed<T>>{static_cast<computed<T>>(c)}, x);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
        detail::contribute(x.target(),
                           detail::each<T, dims>(function::reciprocal_gradient{}, dz, z.value(), x.value()));
      });
    return z;
  }
}

// ---- operands that were refused when they were made

template<class X, class Y>
  requires detail::AnyRejected<X, Y>
constexpr rejected operator+(X const&, Y const&) {
  return {};
}
template<class X, class Y>
  requires detail::AnyRejected<X, Y>
constexpr rejected operator-(X const&, Y const&) {
  return {};
}
template<class X, class Y>
  requires detail::AnyRejected<X, Y>
constexpr rejected operator*(X const&, Y const&) {
  return {};
}
template<class X, class Y>
  requires detail::AnyRejected<X, Y>
constexpr rejected operator/(X const&, Y const&) {
  return {};
}
constexpr rejected operator-(rejected) { return {}; }

}  // namespace v0
}  // namespace meshtf
