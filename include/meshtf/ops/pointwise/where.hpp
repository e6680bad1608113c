// where: chooses one of two values by a condition.
#pragma once

#include <source_location>

#include <meshtf/core/math.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// `yes` where the condition is not 0, else `no`. This is a choice, not a product: the value that is not
/// chosen may be NaN or infinite.
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

/// dz where the first value was chosen, or where the second was.
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

/// `legal`, or the objection to a condition under the layout `K` that chooses from values under `L`; the
/// operands' shapes are `X...`.
template<class K, class L, class... X>
using choice_verdict =
    first_objection<fit_verdict<tensor<int, L>, tensor<int, K>>, elementwise_verdict<actual<L>, X...>>;

/// The number that the local terms on this process use for `c`: where `c` is chosen it counts once.
template<Number N, Operand X>
constexpr N counted_once(N c, X const& x) {
  return x.machine().counts(unreduced_axes_of(x)) ? c : N{};
}

/// For an operand and a number: f(condition, x); `df` tells where x was chosen.
template<class F, class DF, Tensor C, Operand X>
constexpr auto chosen_or_number(std::source_location at, F const& f, DF const& df, C const& condition,
                                X const& operand) {
  using T       = element_in<X>;
  using L       = layout_in<X>;
  using K       = layout_in<C>;
  using verdict = first_objection<choice_verdict<K, L, shape_in<C>, shape_in<X>>,
                                  partial_sum_verdict<L, shape_in<C>, unreduced_axes_in<X>>>;
  static_assert(accepted<verdict>, "meshtf: where can't join these operands");
  if constexpr (!accepted<verdict>) {
    return rejected{};
  } else {
    return linearly<algebra::use::scaled>(operand, [&](auto const& x) {
      x.machine().begin_operation("where", at);
      auto z = each<T, broadcast_shape<shape_in<C>, shape_in<X>>>(f, local_terms(condition), x);
      if (wants_gradient(x))
        record(z, [x = x.without_value(), condition = keep(local_terms(condition).without_slot()),
                   df](auto const& dz) { pull_back(x, 0, df, dz, condition.value()); });
      return z;
    });
  }
}

/// For two operands that are both tensors, or both partial sums.
template<Tensor C, Operand P, Operand Q>
constexpr auto chosen_of_two(std::source_location at, C const& condition, P const& p, Q const& q) {
  auto const choose = [&](auto const& x, auto const& y) {
    x.machine().begin_operation("where", at);
    auto z = each<element_in<P>, broadcast_shape<shape_in<C>, shape_in<P>, shape_in<Q>>>(
        function::choice{}, local_terms(condition), x, y);
    if (wants_gradient(x, y))
      record(z, [x = x.without_value(), y = y.without_value(),
                 condition = keep(local_terms(condition).without_slot())](auto const& dz) {
        if (x.needs_gradient()) pull_back(x, 0, function::where_chosen{}, dz, condition.value());
        if (y.needs_gradient()) pull_back(y, 0, function::where_not_chosen{}, dz, condition.value());
      });
    return z;
  };
  if constexpr (PartialSum<P>) {
    axis_set const unreduced = p.owed() | q.owed();
    auto const x             = local_terms_over(p, unreduced);
    auto const y             = local_terms_over(q, unreduced);
    return result_of<axes<>, P, Q>(choose(x, y), unreduced);
  } else {
    return choose(local_terms(p), local_terms(q));
  }
}

}  // namespace detail

/// x where the condition is not 0, else y. All three are broadcast to one another: one of them has all
/// dimensions, and the result has the order of the first that does. A number and two tensors that share no
/// dimension give the first tensor's dimensions, then the second's. Otherwise write broadcast<D...>(x).
///
/// The condition has elements of any type, for instance the result of a comparison. A number takes the
/// element type of the tensor. Local. A value that is not chosen, even NaN or infinity, affects neither the
/// result nor a gradient: dx = where(condition, dz, 0), which is unreduced over the axes of the dimensions
/// that x lacks. The condition has no gradient. For two partial sums the local terms are chosen alike; for a
/// partial sum and a number, the number counts once.
template<detail::Operand C, detail::Operand X, detail::Operand Y>
constexpr auto where(C const& condition, X const& x, Y const& y,
                     std::source_location at = std::source_location::current()) {
  using whole = detail::use_verdict<algebra::use::compared, C>;
  static_assert(accepted<whole>, "meshtf: where's condition is finished: where(finish(c), x, y)");
  using meets   = detail::meeting_of<algebra::meeting::alongside, X, Y, detail::shape_in<C>>;
  using fits    = detail::fit_verdict<tensor<int, detail::layout_in<X>>, tensor<int, detail::layout_in<C>>>;
  using verdict = first_objection<fits, typename meets::verdict>;
  if constexpr (detail::PartialSum<X> != detail::PartialSum<Y>)
    static_assert(
        accepted<verdict>,
        "meshtf: where would count the tensor once on each process: write as_partial<...>(x), which is free");
  else static_assert(accepted<verdict>, "meshtf: where can't join these operands");
  if constexpr (accepted<first_objection<whole, verdict>>) return detail::chosen_of_two(at, condition, x, y);
  else return detail::rejected{};
}
template<detail::Operand C, detail::Operand X, Number N>
constexpr auto where(C const& condition, X const& x, N y,
                     std::source_location at = std::source_location::current()) {
  using T     = computed<detail::element_in<X>>;
  using whole = detail::use_verdict<algebra::use::compared, C>;
  static_assert(accepted<whole>, "meshtf: where's condition is finished: where(finish(c), x, y)");
  if constexpr (accepted<whole>)
    return detail::chosen_or_number(at,
                                    function::choice_or_number<T>{static_cast<T>(detail::counted_once(y, x))},
                                    function::where_chosen{}, condition, x);
  else return detail::rejected{};
}
template<detail::Operand C, Number N, detail::Operand Y>
constexpr auto where(C const& condition, N x, Y const& y,
                     std::source_location at = std::source_location::current()) {
  using T     = computed<detail::element_in<Y>>;
  using whole = detail::use_verdict<algebra::use::compared, C>;
  static_assert(accepted<whole>, "meshtf: where's condition is finished: where(finish(c), x, y)");
  if constexpr (accepted<whole>)
    return detail::chosen_or_number(at,
                                    function::number_or_choice<T>{static_cast<T>(detail::counted_once(x, y))},
                                    function::where_not_chosen{}, condition, y);
  else return detail::rejected{};
}

MESHTF_ACCEPT_REJECTED(where)

}  // namespace v0
}  // namespace meshtf
