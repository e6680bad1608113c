// attention: softmax(scale * q k) v, without storing the weights.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/name.hpp>
#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/product/attention_terms.hpp>
#include <meshtf/ops/shape/broadcast.hpp>
#include <meshtf/plan/attention_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// Options of `attention`. The query number i stands at position first + i of the memory.
struct attention_options {
  bool causal  = false;  // a position sees itself and those before it only
  double scale = 0;      // of the scores; 0 means 1 / sqrt(size of Key)
  // if > 0, a position sees only itself and those less than `window` away: with `causal` the last `window`
  extent window = 0;
  extent first  = 0;  // where the queries stand, for instance at the end of what a cache holds
  // the probability with which a weight becomes 0; the others are divided by 1 - dropout
  double dropout = 0;
  random_key random{};  // which weights; each use in each step wants a key of its own
};

namespace detail {

/// Storage for a gradient, or none where nobody wants it.
template<class Tensor, class M>
constexpr Tensor storage_if(bool wanted, M& m) {
  if (wanted) return Tensor::uninitialised(m);
  return Tensor{m, {}};
}
template<class Tensor>
constexpr typename Tensor::element_type* data_if_any(Tensor& x) {
  return x.handle() ? x.data() : nullptr;
}

/// What attention is asked to do, for the sentence that says why it can't.
struct asked_attention {
  attention_options const& options;
  std::string_view query;
  std::string_view memory;
  extent queries;
  extent memories;
  extent distances;
};
[[noreturn]] void throw_attention(asked_attention const& a);

template<class Query, class Memory>
constexpr void expect_in_memory(attention_options const& o, extent queries, extent memories,
                                extent distances) {
  if (o.first < 0 || o.window < 0 || (o.first > 0 && o.causal && o.first + queries > memories) ||
      !(o.dropout >= 0 && o.dropout < 1) || (distances > 0 && o.first + queries + memories - 1 > distances))
    throw_attention({o, name_of<Query>(), name_of<Memory>(), queries, memories, distances});
}

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void throw_attention(asked_attention const& a) {
  auto const& o      = a.options;
  auto const in_text = [](auto n) { return std::to_string(n); };
  if (o.first < 0 || o.window < 0)
    throw software_error("attention has a first position and a window of at least 0, got " +
                         in_text(o.first) + " and " + in_text(o.window));
  if (o.first > 0 && o.causal && o.first + a.queries > a.memories)
    throw software_error("attention of " + in_text(a.queries) + " positions of " + std::string{a.query} +
                         " starts at " + in_text(o.first) + ", beyond the " + in_text(a.memories) + " of " +
                         std::string{a.memory});
  if (!(o.dropout >= 0 && o.dropout < 1))
    throw software_error("expected a dropout rate of attention of at least 0 and less than 1, got " +
                         in_text(o.dropout));
  throw software_error("the bias of attention has " + in_text(a.distances) +
                       " distances, and queries from position " + in_text(o.first) + " on need " +
                       in_text(o.first + a.queries + a.memories - 1));
}

#endif

/// The bias with all dimensions of the pairs, so that each process adds up the gradient of each pair by
/// itself.
template<class B>
constexpr no_term const& bias_of_pairs(shape<>, B const& b, std::source_location) {
  return b;
}
template<class... D, class T, class L, class... B>
constexpr decltype(auto) bias_of_pairs(shape<D...>, tensor<T, L, B...> const& b, std::source_location at) {
  if constexpr (std::is_same_v<shape<D...>, shape<B...>>) return (b);
  else return broadcast<D...>(b, at);
}

template<class Query, class Memory, class Key, class X, class K, class V, class B, class QS, class MS>
constexpr auto attend(X const& queries, K const& keys, V const& values,
                      attention_terms<B, QS, MS> const& terms, attention_options const& options,
                      std::source_location at) {
  using T     = element_in<X>;
  using L     = layout_in<X>;
  using Q     = tensor_in<X>;
  using whole = use_verdict<algebra::use::normalised, X>;
  using plan  = attention_plan<actual<L>, Query, Memory, Key, typename Q::shape_type, typename K::shape_type,
                               typename V::shape_type, typename B::shape_type, typename QS::shape_type,
                               typename MS::shape_type>;
  using of_k  = tensor<typename K::element_type, typename K::layout_type>;
  using of_v  = tensor<typename V::element_type, typename V::layout_type>;
  using verdict   = first_objection<fit_verdict<tensor<T, L>, of_k>, fit_verdict<tensor<T, L>, of_v>,
                                    typename plan::verdict>;
  using grouped   = sentence<heads_share_keys, verdict>;
  using multiple  = sentence<heads_are_no_multiple, typename grouped::common>;
  using memory    = sentence<memory_has_other_dims, typename multiple::common>;
  using term      = sentence<term_has_other_dims, typename memory::common>;
  using undivided = sentence<attention_along_split_dim, typename term::common>;
  constexpr bool terms_fit =
      term_fits<L, T, B> && term_fits<L, std::int32_t, QS> && term_fits<L, std::int32_t, MS>;
  static_assert(accepted<whole>,
                "meshtf: attention needs a finished value: write attention<...>(finish(q), ...)");
  static_assert(accepted<typename grouped::own>,
                "meshtf: grouped keys: attention<...>(split_dim<heads, groups, each>(q), k, v)");
  static_assert(accepted<typename multiple::own>, "meshtf: attention needs a multiple of the keys' heads");
  static_assert(accepted<typename memory::own>, "meshtf: attention: k, v: q's dims, memory for query");
  static_assert(accepted<typename term::own>, "meshtf: bias and segments of attention: q's dims, or memory");
  static_assert(accepted<with_reshard<typename undivided::own, X, K, V>>,
                "meshtf: attention needs this dim whole: reshard first");
  static_assert(accepted<typename undivided::common>,
                "meshtf: attention needs q, k, v of one type and layout, with these dims");
  static_assert(
      terms_fit,
      "meshtf: the bias of attention has the queries' elements and layout, segment ids are int and have "
      "their layout");
  if constexpr (!accepted<first_objection<whole, verdict>> || !terms_fit) {
    return rejected{};
  } else {
    using result_type = tensor_of<T, L, typename plan::result>;
    auto const& q     = local_terms(queries);
    auto const& k     = local_terms(keys);
    auto const& v     = local_terms(values);
    auto& m           = q.machine();
    decltype(auto) b  = bias_of_pairs(typename plan::full_bias{}, terms.bias, at);
    m.begin_operation("attention", at);
    m.constrain(plan::needs);
    expect_in_memory<Query, Memory>(options, m.counted().template of<Query>(),
                                    m.counted().template of<Memory>(), plan::distance_count);
    auto z         = result_type::uninitialised(m);
    auto log_total = tensor_of<computed<T>, L, typename plan::row>::uninitialised(m);
    attention_view const view{options.causal, options.first, options.window, options.dropout, options.random};
    attention_arrays<T> const all{q.data(),
                                  k.data(),
                                  v.data(),
                                  z.data(),
                                  log_total.data(),
                                  b.data(),
                                  terms.query_segments.data(),
                                  terms.memory_segments.data()};
    m.run(task::attend<T>{view, options.scale}, plan::steps, all);

    double const factor = options.scale;
    bool const for_bias = [&] {
      if constexpr (std::is_same_v<B, no_term>) return false;
      else return wants_gradient(q, b);
    }();
    if (wants_gradient(q, k, v) || for_bias)
      record(z, [q = keep(q), k = keep(k), v = keep(v), z = keep(z), b = keep(b),
                 of_queries = keep(terms.query_segments), of_memory = keep(terms.memory_segments), log_total,
                 view, factor](auto const& dz) {
        using bias_type = std::conditional_t<std::is_same_v<B, no_term>, tensor<T, L>,
                                             tensor_of<T, L, typename plan::full_bias>>;
        auto& machine   = dz.machine();
        attention_wishes const wants{q.needs_gradient(), k.needs_gradient(), v.needs_gradient(),
                                     b.needs_gradient()};
        auto dq = storage_if<Q>(wants.query, machine);
        auto dk = storage_if<tensor_in<K>>(wants.key, machine);
        auto dv = storage_if<tensor_in<V>>(wants.value, machine);
        auto db = storage_if<bias_type>(wants.bias, machine);
        attention_gradient_arrays<T> const arrays{
            q.value().data(),        k.value().data(), v.value().data(), z.value().data(),
            log_total.data(),        dz.data(),        data_if_any(dq),  data_if_any(dk),
            data_if_any(dv),         b.value().data(), data_if_any(db),  of_queries.value().data(),
            of_memory.value().data()};
        machine.run(task::attention_gradient<T>{wants, view, factor}, plan::steps, arrays);
        auto const* const why = &reason_to_sum<actual<L>, typename plan::loops>;
        if (wants.query) contribute(q.target(), dq);
        if (wants.key) contribute(k.target(), dk, plan::memory_unreduced, why);
        if (wants.value) contribute(v.target(), dv, plan::memory_unreduced, why);
        if constexpr (!std::is_same_v<B, no_term>)
          if (wants.bias) contribute(b.target(), db, plan::bias_unreduced, why);
      });
    return z;
  }
}

}  // namespace detail

/// Scaled dot-product attention: along `Key`, each position along `Query` of q is compared with every
/// position along `Memory` of k. Its result is the mean of the values v along `Memory`, weighted with the
/// softmax of scale * q k. In self-attention `Query` and `Memory` are one dimension. All other dimensions,
/// such as batch and heads, are batch dimensions and may be split. Those that only q has share the keys and
/// values, which are not copied:
///
///     auto z = attention<length, length, key>(split_dim<heads, groups, each>(q), k, v, {.causal = true});
///     // k and v have groups
///
/// Values may have a dimension of their own in place of `Key`, which the result then has.
///
/// Up to rounding it equals `einsum<..., Key>(softmax<Memory>(scale * einsum<..., Query, Memory>(q, k)), v)`
/// with masked scores. It works in the cache, one head of one sequence at a time, skips blocks that the mask
/// or the window hides, and keeps one number for each query, from which the gradient recomputes the weights.
/// Nothing is sent; the gradients of keys and values are unreduced over the axes that split what shares them.
/// `flops()` counts the products in full, as the composition does.
///
/// If `Query` is split, `Memory` is another dimension that is whole: each process has the queries of its
/// part, which stand where they stand in the whole, and all keys and values. `rename<length, memory>(k)`
/// gathers them.
///
/// With `dropout`, weights are dropped as `dropout(weights, rate, random)` drops them if they have the
/// dimensions of q without `Key`, then `Memory`: the same under every layout, and drawn again for the
/// gradient. Errors: `attention_verdict`; `software_error` if causal queries stand beyond the memory.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2; Dao et al., FlashAttention (2022), for the
/// gradient from one number a row; Ainslie et al., GQA (2023), for keys that heads share; Beltagy et al.,
/// Longformer (2020), 3.1, for the window.
template<Dimension Query, Dimension Memory, Dimension Key, detail::FloatingOperand X, Tensor K, Tensor V>
constexpr auto attention(X const& queries, K const& keys, V const& values, attention_options options = {},
                         std::source_location at = std::source_location::current()) {
  using terms = detail::attention_terms<detail::no_term, detail::no_term, detail::no_term>;
  return detail::attend<Query, Memory, Key>(queries, keys, values, terms{}, options, at);
}

/// The same with a bias, segment ids, a mask of the memory, or several of them:
///
///     auto z = attention<length, length, key>(q, k, v, with_bias(slopes).and_segments(ids));
///     auto y = attention<length, memory, key>(q, k, v, with_mask(visible));
///
/// The bias becomes a copy with all batch dimensions, and with `Query`, if it has an element for each score.
/// Its gradient is the sum over these.
template<Dimension Query, Dimension Memory, Dimension Key, detail::FloatingOperand X, Tensor K, Tensor V,
         class B, class QS, class MS, class M>
constexpr auto attention(X const& queries, K const& keys, V const& values,
                         detail::attention_terms<B, QS, MS, M> const& terms, attention_options options = {},
                         std::source_location at = std::source_location::current()) {
  if constexpr (std::is_same_v<M, detail::no_term>) {
    return detail::attend<Query, Memory, Key>(queries, keys, values, terms, options, at);
  } else {
    constexpr bool fits = detail::mask_fits<detail::layout_in<X>, M>;
    static_assert(fits,
                  "meshtf: the mask of attention has the queries' layout: with_mask(reshard<...>(visible))");
    if constexpr (!fits) return detail::rejected{};
    else
      return detail::attend<Query, Memory, Key>(
          queries, keys, values, detail::mask_in_segments<Query, Memory>(terms, at), options, at);
  }
}

MESHTF_ACCEPT_REJECTED(attention)
template<class... Named, class X, class K, class V>
  requires detail::AnyRejected<X, K, V>
constexpr rejected attention(X const&, K const&, V const&, attention_options const&,
                             std::source_location = {}) {
  return {};
}
template<class... Named, class X, class K, class V, class Terms>
  requires detail::AnyRejected<X, K, V, Terms>
constexpr rejected attention(X const&, K const&, V const&, Terms const&, attention_options const&,
                             std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
