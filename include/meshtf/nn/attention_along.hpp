// Attention of a sequence to itself, also where its positions are split.
#pragma once

#include <meshtf/ops/product/attention.hpp>
#include <meshtf/ops/shape/rename.hpp>

namespace meshtf {
inline namespace v0 {
namespace nn {

/// `D` under a name that no layout splits: each process has all of it.
template<Dimension D>
struct all_of : dim<D::size> {};

namespace detail {

/// Whether each process has a part of the positions, which it compares with all. Where a layout has yet to be
/// chosen, they stay whole.
template<class L, class Length>
constexpr bool gathers_memory() {
  if constexpr (CountedDimension<Length>) return false;
  else return always_split_over<L, shape<Length>> != 0;
}

/// The name under which each process has all positions along `Memory`.
template<class L, class Memory>
using positions_of = std::conditional_t<gathers_memory<L, Memory>(), all_of<Memory>, Memory>;

/// `x` with all positions along `Memory`; itself where they are whole, or where it has no positions.
template<Dimension Memory, class X>
constexpr decltype(auto) gathered(X const& x, std::source_location at) {
  if constexpr (!X::shape_type::template has<Memory>) return (x);
  else if constexpr (!gathers_memory<typename X::layout_type, Memory>()) return (x);
  else return rename<Memory, all_of<Memory>>(x, at);
}

/// Terms of an attention to all positions along `Memory`. Segment ids of queries stay where the queries are.
template<Dimension Memory, class B, class QS, class MS, class M>
constexpr auto gathered(meshtf::detail::attention_terms<B, QS, MS, M> const& terms, std::source_location at) {
  auto const& bias = gathered<Memory>(terms.bias, at);
  auto const& ids  = gathered<Memory>(terms.memory_segments, at);
  auto const& mask = gathered<Memory>(terms.mask, at);
  return meshtf::detail::terms_of(bias, terms.query_segments, ids, mask);
}

}  // namespace detail

/// `attention<Length, Length, Key>(q, k, v)`, also where `Length` is split: queries and the result stay where
/// they are, and keys and values are gathered. Each costs an all-gather, and backward a reduce-scatter, of
/// what a process's heads and sequences have of it, so keys that heads share cost less. Where `Length` is
/// whole nothing is sent. Positions that are counted at run time must be whole.
/// Source: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (2022), 4.2.2,
/// for sequences that are split.
template<Dimension Length, Dimension Key, meshtf::detail::FloatingOperand X, Tensor K, Tensor V>
constexpr auto attention_along(X const& queries, K const& keys, V const& values,
                               attention_options options = {},
                               std::source_location at   = std::source_location::current()) {
  using positions        = detail::positions_of<meshtf::detail::layout_in<X>, Length>;
  auto const& all_keys   = detail::gathered<Length>(keys, at);
  auto const& all_values = detail::gathered<Length>(values, at);
  return meshtf::attention<Length, positions, Key>(queries, all_keys, all_values, options, at);
}

/// The same with a bias, segment ids or a mask of the positions (`with_bias`, `with_segments`, `with_mask`),
/// which are gathered as the keys are.
template<Dimension Length, Dimension Key, meshtf::detail::FloatingOperand X, Tensor K, Tensor V,
         class... Terms>
constexpr auto attention_along(X const& queries, K const& keys, V const& values,
                               meshtf::detail::attention_terms<Terms...> const& terms,
                               attention_options options = {},
                               std::source_location at   = std::source_location::current()) {
  using positions        = detail::positions_of<meshtf::detail::layout_in<X>, Length>;
  auto const& all_keys   = detail::gathered<Length>(keys, at);
  auto const& all_values = detail::gathered<Length>(values, at);
  auto const all_terms   = detail::gathered<Length>(terms, at);
  return meshtf::attention<Length, positions, Key>(queries, all_keys, all_values, all_terms, options, at);
}

MESHTF_ACCEPT_REJECTED(attention_along)
template<class... Named, class X, class K, class V>
  requires meshtf::detail::AnyRejected<X, K, V>
constexpr rejected attention_along(X const&, K const&, V const&, attention_options const&,
                                   std::source_location = {}) {
  return {};
}

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
