// where: of two values, the one that a condition chooses.
#pragma once

#include <source_location>

#include <meshtf/ops/open_arithmetic.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

namespace function {

/// `yes` where the condition is not 0. A choice, not a product: what is not chosen may be NaN or infinite.
template<class C, class V>
constexpr V chosen(C const& condition, V const& yes, V const& no) {
  using math::select;
  return select(condition == C(0), no, yes);
}

struct choice : of_elements<1> {
  template<class C, class V>
  constexpr V operator()(C const& condition, V const& x, V const& y) const {
    return chosen(condition, x, y);
  }
};
template<class T>
struct choice_or_number : of_elements<1> {
  T number;
  constexpr explicit choice_or_number(T n) : number(n) {}
  template<class C, class V>
  constexpr V operator()(C const& condition, V const& x) const {
    return chosen(condition, x, V(number));
  }
};
template<class T>
struct number_or_choice : of_elements<1> {
  T number;
  constexpr explicit number_or_choice(T n) : number(n) {}
  template<class C, class V>
  constexpr V operator()(C const& condition, V const& y) const {
    return chosen(condition, V(number), y);
  }
};

/// dz where the first was chosen, and where the second was.
struct where_chosen : of_elements<1> {
  template<class C, class V>
  constexpr V operator()(V const& dz, C const& condition) const {
    return chosen(condition, dz, V(0));
  }
};
struct where_not_chosen : of_elements<1> {
  template<class C, class V>
  constexpr V operator()(V const& dz, C const& condition) const {
    return chosen(condition, V(0), dz);
  }
};

}  // namespace function

namespace detail {

/// `legal`, or the objection to a condition under the layout `K` that chooses from values under `L`; the operands' shapes are `X...`.
template<class K, class L, class... X>
using choice_verdict = first_objection<fit_verdict<tensor<int, L>, tensor<int, K>>, elementwise_verdict<wet<L>, X...>>;

/// f(condition, x): x where it is chosen and a number elsewhere; `df` tells where.
template<class F, class DF, class C, class K, class... D, class T, class L, class... X>
constexpr auto chosen_or_number(std::source_location at, F const& f, DF const& df, tensor<C, K, D...> const& condition, tensor<T, L, X...> const& x) {
  using out     = broadcast_shape<shape<D...>, shape<X...>>;
  using verdict = choice_verdict<K, L, shape<D...>, shape<X...>>;
  static_assert(accepted<verdict>, "meshtf: where can't join these operands");
  if constexpr (!accepted<verdict>) {
    return rejected{};
  } else {
    x.machine().enter("where", at);
    auto z = each<T, out>(f, condition, x);
    if (wants_gradient(x))
      record(z, [x = x.without_value(), condition = keep(condition.without_slot()), df](auto const& dz) { pull_back(x, df, dz, condition.value()); });
    return z;
  }
}

}  // namespace detail

/// x where the condition is not 0, else y. All three are broadcast to one another: one of them has all dimensions, and the result has the order of the first that
/// does. Of a number and two tensors that share no dimension it has the first tensor's, then the second's. Otherwise write broadcast<D...>(x).
///
/// The condition holds elements of any type, such as a comparison gives. A number takes the element type of the tensor. Local. What is not chosen has no
/// influence, be it NaN or infinite, neither on the result nor on a gradient: dx = where(condition, dz, 0), which owes the axes of the dimensions that x
/// lacks. The condition has no gradient.
template<class C, class K, class... D, class T, class L, class... X, class U, class R, class... Y>
constexpr auto where(tensor<C, K, D...> const& condition, tensor<T, L, X...> const& x, tensor<U, R, Y...> const& y,
                     std::source_location at = std::source_location::current()) {
  using out     = broadcast_shape<shape<D...>, shape<X...>, shape<Y...>>;
  using verdict = first_objection<detail::fit_verdict<tensor<T, L, X...>, tensor<U, R, Y...>>,
                                  detail::choice_verdict<K, L, shape<D...>, shape<X...>, shape<Y...>>>;
  static_assert(accepted<verdict>, "meshtf: where can't join these operands");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("where", at);
    auto z = detail::each<T, out>(function::choice{}, condition, x, y);
    if (detail::wants_gradient(x, y))
      detail::record(z, [x = x.without_value(), y = y.without_value(), condition = detail::keep(condition.without_slot())](auto const& dz) {
        if (x.needs_gradient()) detail::pull_back(x, function::where_chosen{}, dz, condition.value());
        if (y.needs_gradient()) detail::pull_back(y, function::where_not_chosen{}, dz, condition.value());
      });
    return z;
  }
}
template<class C, class K, class... D, class T, class L, class... X, Number N>
constexpr auto where(tensor<C, K, D...> const& condition, tensor<T, L, X...> const& x, N y,
                     std::source_location at = std::source_location::current()) {
  return detail::chosen_or_number(at, function::choice_or_number<T>{static_cast<T>(y)}, function::where_chosen{}, condition, x);
}
template<class C, class K, class... D, class T, class L, class... Y, Number N>
constexpr auto where(tensor<C, K, D...> const& condition, N x, tensor<T, L, Y...> const& y,
                     std::source_location at = std::source_location::current()) {
  return detail::chosen_or_number(at, function::number_or_choice<T>{static_cast<T>(x)}, function::where_not_chosen{}, condition, y);
}

// ---- choices between open sums: the same choice among the addends

/// Of two open sums: one over the axes of both.
template<class C, class K, class... D, class T, class L, class... X, class A, class U, class R, class... Y, class B>
constexpr auto where(tensor<C, K, D...> const& condition, partial<tensor<T, L, X...>, A> const& p, partial<tensor<U, R, Y...>, B> const& q,
                     std::source_location at = std::source_location::current()) {
  using meets   = detail::meet_open<algebra::meeting::alongside, partial<tensor<T, L, X...>, A>, partial<tensor<U, R, Y...>, B>, shape<D...>>;
  using over    = typename meets::over;
  using verdict = typename meets::verdict;
  static_assert(accepted<verdict>, "meshtf: where can't choose from these open sums");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    axis_set const owed = p.owed() | q.owed();
    auto const x        = detail::addends_over(p, owed);
    auto const y        = detail::addends_over(q, owed);
    auto z              = where(condition, x, y, at);
    return partial<decltype(z), over>{std::move(z), owed};
  }
}

namespace detail {

/// The number that the addends on this process take for `c`: where it is chosen it counts once.
template<class N, class V, class Over>
constexpr N counted_once(N c, partial<V, Over> const& p) {
  return p.machine().counts(p.owed()) ? c : N{};
}

}  // namespace detail

/// Of an open sum and a number, which counts once.
template<class C, class K, class... D, class T, class L, class... X, class Over, Number N>
constexpr auto where(tensor<C, K, D...> const& condition, partial<tensor<T, L, X...>, Over> const& p, N c,
                     std::source_location at = std::source_location::current()) {
  using verdict = detail::open_verdict<L, shape<D...>, Over>;
  static_assert(accepted<verdict>, "meshtf: this condition is split over an axis that the open sum owes: where(condition, finish(p), c)");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else return detail::handed_through<algebra::use::scaled>(p, where(condition, p.addend(), detail::counted_once(c, p), at));
}
template<class C, class K, class... D, class T, class L, class... X, class Over, Number N>
constexpr auto where(tensor<C, K, D...> const& condition, N c, partial<tensor<T, L, X...>, Over> const& p,
                     std::source_location at = std::source_location::current()) {
  using verdict = detail::open_verdict<L, shape<D...>, Over>;
  static_assert(accepted<verdict>, "meshtf: this condition is split over an axis that the open sum owes: where(condition, c, finish(p))");
  if constexpr (!accepted<verdict>) return detail::rejected{};
  else return detail::handed_through<algebra::use::scaled>(p, where(condition, detail::counted_once(c, p), p.addend(), at));
}

template<Tensor C, class V, class Over, Tensor Y>
constexpr V where(C const&, partial<V, Over> const& p, Y const&) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::alongside, partial<V, Over>, Y>>,
                "meshtf: where would count y per addend: as_partial<...>(y), free");
  return p.addend();
}
template<Tensor C, Tensor X, class V, class Over>
constexpr V where(C const&, X const&, partial<V, Over> const& p) {
  static_assert(accepted<detail::meeting_verdict<algebra::meeting::alongside, X, partial<V, Over>>>,
                "meshtf: where would count x per addend: as_partial<...>(x), free");
  return p.addend();
}
template<class V, class Over, class X, class Y>
constexpr V where(partial<V, Over> const& condition, X const&, Y const&) {
  static_assert(accepted<detail::use_verdict<algebra::use::compared, partial<V, Over>>>,
                "meshtf: where's condition is finished: where(finish(c), x, y)");
  return condition.addend();
}

}  // namespace meshtf::inline v0
