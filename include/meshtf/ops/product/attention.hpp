// attention: softmax(scale * q k) v, without storing the weights.
#pragma once

#include <utility>

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/plan/attention_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// Options of `attention`.
struct attention_options {
  bool causal  = false;   // position i sees the first i + 1 positions only
  double scale = 0;       // of the scores; 0 means 1 / sqrt(size of Key)
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

}  // namespace detail

/// Scaled dot-product attention: along `Key`, each position along `Query` of q is compared with every position along `Memory` of k. Its result is the
/// mean of the values v along `Memory`, weighted with the softmax of scale * q k. In self-attention `Query` and `Memory` are one dimension. All other
/// dimensions, such as batch and heads, are in all three operands and may be split.
///
/// Up to rounding it equals `einsum<..., Key>(softmax<Memory>(scale * einsum<..., Query, Memory>(q, k)), v)` with masked scores. It works in the
/// cache, one head of one sequence at a time, skips blocks that the mask hides, and keeps one number for each query, from which the gradient
/// recomputes the weights. Nothing is sent; gradients owe nothing. `flops()` counts the products in full, as the composition does.
/// Errors: `attention_verdict`.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2; Dao et al., FlashAttention (2022), for the gradient from one number a row.
template<Dimension Query, Dimension Memory, Dimension Key, detail::FloatingOperand X, Tensor K, Tensor V>
constexpr auto attention(X const& queries, K const& keys, V const& values, attention_options options = {},
                         std::source_location at = std::source_location::current()) {
  using T     = detail::element_in<X>;
  using L     = detail::layout_in<X>;
  using Q     = detail::tensor_in<X>;
  using whole = detail::use_verdict<algebra::use::normalised, X>;
  using verdict =
      first_objection<detail::fit_verdict<tensor<T, L>, tensor<typename K::element_type, typename K::layout_type>>,
                      detail::fit_verdict<tensor<T, L>, tensor<typename V::element_type, typename V::layout_type>>,
                      attention_verdict<wet<L>, Query, Memory, Key, typename Q::shape_type, typename K::shape_type, typename V::shape_type>>;
  using grouped = detail::sentence<heads_share_keys, verdict>;
  static_assert(accepted<whole>, "meshtf: attention is not linear: attention<...>(finish(q), ...)");
  static_assert(accepted<typename grouped::own>, "meshtf: grouped keys: split_dim<heads, groups, each>(q), broadcast<..., each>(k) and (v)");
  static_assert(accepted<detail::with_reshard<typename grouped::common, X, K, V>>, "meshtf: attention can't work with these operands");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    using plan    = attention_plan<wet<L>, Query, Memory, Key, typename Q::shape_type, typename K::shape_type, typename V::shape_type>;
    auto const& q = detail::entered(queries);
    auto const& k = detail::entered(keys);
    auto const& v = detail::entered(values);
    auto& m       = q.machine();
    m.enter("attention", at);
    auto z         = Q::uninitialised(m);
    auto log_total = tensor_of<computed<T>, L, typename plan::row>::uninitialised(m);
    m.run(task::attend<T>{options.causal, options.scale}, plan::steps, q.data(), k.data(), v.data(), z.data(), log_total.data());

    if (detail::wants_gradient(q, k, v))
      detail::record(z, [q = detail::keep(q), k = detail::keep(k), v = detail::keep(v), z = detail::keep(z), log_total, options](auto const& dz) {
        auto& machine = dz.machine();
        attention_wishes const wants{q.needs_gradient(), k.needs_gradient(), v.needs_gradient()};
        auto dq = detail::storage_if<Q>(wants.query, machine);
        auto dk = detail::storage_if<detail::tensor_in<K>>(wants.key, machine);
        auto dv = detail::storage_if<detail::tensor_in<V>>(wants.value, machine);
        attention_gradient_arrays<T> const arrays{q.value().data(),        k.value().data(),        v.value().data(),
                                                  z.value().data(),        log_total.data(),        dz.data(),
                                                  detail::data_if_any(dq), detail::data_if_any(dk), detail::data_if_any(dv)};
        machine.run(task::attention_gradient<T>{wants, options.causal, options.scale}, plan::steps, arrays);
        if (wants.query) detail::contribute(q.target(), dq);
        if (wants.key) detail::contribute(k.target(), dk);
        if (wants.value) detail::contribute(v.target(), dv);
      });
    return z;
  }
}

}  // namespace v0
}  // namespace meshtf
