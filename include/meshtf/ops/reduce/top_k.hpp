// top_k: the largest elements along a dimension, and where they were.
#pragma once

#include <meshtf/core/name.hpp>
#include <meshtf/ops/reduce/sort.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The first K::size elements along `Along` in order, where processes have parts: each finds the first of its
/// own, all gather these candidates, and each finds the first among them.
template<class Along, class K, class T, class L, class... D>
constexpr auto ranked_in_parts(tensor<T, L, D...> const& x, bool descending) {
  using plan    = split_rank_plan<actual<L>, shape<D...>, Along, K>;
  using Machine = machine<L>;
  auto& m       = x.machine();

  constexpr extent part = shard_size<actual<L>, typename plan::part>;
  auto const found      = shared<storage<T, Machine>, Machine>::make(m, m, plan::parts * part);
  auto const where      = shared<storage<std::int32_t, Machine>, Machine>::make(m, m, plan::parts * part);
  extent const mine     = m.rank_along(plan::joined_over) * part;
  m.run(task::rank<T>{descending}, plan::ranks, x.data(), offset<L>(found->data(), mine),
        offset<L>(where->data(), mine));
  m.because(&reason_to_join_ranks);
  m.all_gather(found->data(), part, plan::joined_over);
  m.because(&reason_to_join_ranks);
  m.all_gather(where->data(), part, plan::joined_over);

  auto value = tensor_of<T, L, typename plan::result>::uninitialised(m);
  auto index = tensor_of<std::int32_t, L, typename plan::result>::uninitialised(m);
  m.run(task::merge_ranks<T>{descending}, plan::merge, static_cast<T const*>(found->data()),
        static_cast<std::int32_t const*>(where->data()), value.data(), index.data());
  return value_and_index<decltype(value), decltype(index)>{std::move(value), std::move(index)};
}

/// The same under `L`. The search has another way, since `Along` may be split or whole
/// (search/undecided_lines.hpp).
template<class L>
struct ranking_under {
  template<class Along, class K, class X>
  static constexpr auto in_parts(X const& x, bool descending) {
    return ranked_in_parts<Along, K>(x, descending);
  }
};

/// The first K::size elements along `Along` in order, with their indices. Part of an operation that has
/// begun.
template<class Along, class K, class T, class L, class... D>
constexpr auto first_ranks(tensor<T, L, D...> const& x, bool descending) {
  if constexpr (CountedDimension<Along>)
    if (extent const there = x.machine().counted().template of<Along>(),
        wanted             = x.machine().counted().template of<K>();
        there < wanted)
      throw_counted_less(x.machine().now(), name_of<Along>(), there, wanted);
  if constexpr (split_over<L, shape<Along>> == 0 || std::is_same_v<Along, K>)  // a line is sorted whole
    return ranked<Along, K>(x, descending);
  else return ranking_under<actual<L>>::template in_parts<Along, K>(x, descending);
}

}  // namespace detail

/// The K::size largest elements along `Along` from the largest on, and their indices, along `K` in its place;
/// `{.descending = false}`: the smallest from the smallest on.
///
///     struct best : meshtf::dim<5> {};
///     auto const [value, index] = top_k<vocab, best>(logits);   // [batch, vocab] -> [batch, best] twice
///
/// Of equal elements the one with the lower index is first, and NaNs are last. The index is an int, so
/// `Along` has at most 2^31 elements. `K` is whole under the layout. Where `Along` is split, each process
/// finds the first K::size elements of its part (or all, if it has fewer), and two all-gathers over its axes
/// bring these candidates and their indices together. Gradient: dz of the values goes to the elements at the
/// indices; it sends nothing and needs no reduction. The index has none.
/// Source: Shazeer et al., Mesh-TensorFlow (2018), its operation top_k.
template<Dimension Along, Dimension K, detail::NumberOperand X>
constexpr auto top_k(X const& operand, ordering order = {.descending = true},
                     std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = top_k_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along, K>;
  static_assert(accepted<whole>, "meshtf: top_k needs a finished value: write top_k<...>(finish(x))");
  static_assert(accepted<detail::with_reshard<verdict, X>>,
                "meshtf: top_k can't take so many elements along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected_pair{};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("top_k", at);
    auto z = detail::first_ranks<Along, K>(x, order.descending);
    detail::record_ranked<Along, K>(z, x);
    return z;
  }
}

MESHTF_ACCEPT_REJECTED_AS(detail::rejected_pair, top_k)
MESHTF_ACCEPT_REJECTED_WITH(detail::rejected_pair, top_k, ordering)

}  // namespace v0
}  // namespace meshtf
