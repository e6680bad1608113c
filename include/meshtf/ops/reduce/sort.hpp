// sort and argsort: the elements along a dimension in order, and where they were.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/ops/reduce/value_and_index.hpp>
#include <meshtf/plan/rank_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// Puts dz of the elements that were ranked where they came from, among zeros.
template<class Along, class K, class L, class In, class T, class Target, class Index, class... Z>
constexpr void contribute_unranked(Target const& x, Index const& index, tensor<T, L, Z...> const& dz) {
  auto& m = dz.machine();
  auto dx = [&] {
    if constexpr (std::is_same_v<Along, K>) return tensor_of<T, L, In>::uninitialised(m);
    else return tensor_of<T, L, In>{m};
  }();
  auto const put_back = [&] {
    m.run(task::unrank<T>{}, rank_plan<actual<L>, In, Along, K>::ranks, dz.data(), index.data(), dx.data());
  };
  if constexpr (std::is_same_v<Along, K>) put_back();  // it needs `Along` whole
  else m.if_joined(split_over<actual<L>, shape<Along>>, put_back, put_back);
  contribute(x, dx);
}

/// The first K::size elements along `Along` in order, with their indices, where a process has all of them.
template<class Along, class K, class T, class L, class... D>
constexpr auto ranked(tensor<T, L, D...> const& x, bool descending) {
  using plan = rank_plan<actual<L>, shape<D...>, Along, K>;
  auto& m    = x.machine();
  auto value = tensor_of<T, L, typename plan::result>::uninitialised(m);
  auto index = tensor_of<std::int32_t, L, typename plan::result>::uninitialised(m);
  m.run(task::rank<T>{descending}, plan::ranks, x.data(), value.data(), index.data());
  return value_and_index<decltype(value), decltype(index)>{std::move(value), std::move(index)};
}

/// Puts the gradient of ranked values on the tape.
template<class Along, class K, class Ranked, class T, class L, class... D>
constexpr void record_ranked(Ranked& z, tensor<T, L, D...> const& x) {
  if constexpr (FloatingElement<T>)
    if (wants_gradient(x))
      record(z.value, [x = x.without_value(), index = keep(z.index)](auto const& dz) {
        contribute_unranked<Along, K, L, shape<D...>>(x, index.value(), dz);
      });
}

template<class Along, Operand X>
constexpr auto sorted(char const* name, std::source_location at, X const& operand, ordering order) {
  auto const& x = local_terms(operand);
  x.machine().begin_operation(name, at);
  auto z = ranked<Along, Along>(x, order.descending);
  record_ranked<Along, Along>(z, x);
  return z;
}

}  // namespace detail

/// The order is from the smallest to the largest; with `{.descending = true}` it is from the largest to the
/// smallest.
///
///     auto const [value, index] = sort_and_argsort<length>(scores, {.descending = true});
///
/// Equal elements stay in their order, and NaNs come last, in either order. The index is an int, so `Along`
/// has at most 2^31 elements. `Along` is whole under the layout. Local. Gradient: dz goes back to where the
/// elements came from, and needs no reduction; the index has none.

/// The elements along `Along` in order.
template<Dimension Along, detail::NumberOperand X>
constexpr auto sort(X const& x, ordering order = {},
                    std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = sort_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<whole>, "meshtf: sort needs a finished value: write sort<...>(finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, X>>, "meshtf: sort can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected{};
  else return detail::sorted<Along>("sort", at, x, order).value;
}

/// The indices of the elements along `Along` in order.
template<Dimension Along, detail::NumberOperand X>
constexpr auto argsort(X const& x, ordering order = {},
                       std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = sort_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<whole>, "meshtf: argsort needs a finished value: write argsort<...>(finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: argsort can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& tensor = detail::local_terms(x);
    tensor.machine().begin_operation("argsort", at);
    return detail::ranked<Along, Along>(tensor, order.descending).index;
  }
}

//= || x.sort(1) || jnp.sort(x, 1), jnp.argsort(x, 1) || sort_and_argsort<hidden>(x)
/// The elements along `Along` in order, and their indices: `.value` and `.index`.
template<Dimension Along, detail::NumberOperand X>
constexpr auto sort_and_argsort(X const& x, ordering order = {},
                                std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = sort_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along>;
  static_assert(accepted<whole>,
                "meshtf: sort_and_argsort needs a finished value: write sort_and_argsort<...>(finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: sort_and_argsort can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected_pair{};
  else return detail::sorted<Along>("sort_and_argsort", at, x, order);
}

MESHTF_ACCEPT_REJECTED(sort)
MESHTF_ACCEPT_REJECTED_WITH(rejected, sort, ordering)
MESHTF_ACCEPT_REJECTED(argsort)
MESHTF_ACCEPT_REJECTED_WITH(rejected, argsort, ordering)
MESHTF_ACCEPT_REJECTED_AS(detail::rejected_pair, sort_and_argsort)
MESHTF_ACCEPT_REJECTED_WITH(detail::rejected_pair, sort_and_argsort, ordering)

}  // namespace v0
}  // namespace meshtf
