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

/// Whether each process has a part of the positions, which it compares with all. The search for a layout keeps them whole.
template<class L, class Length>
constexpr bool gathers_memory() {
  if constexpr (is_undecided<L> || CountedDimension<Length>) return false;
  else return split_over<wet<L>, shape<Length>> != 0;
}

}  // namespace detail

/// `attention<Length, Length, Key>(q, k, v)`, also where `Length` is split: queries and the result stay where they are, and keys and values are
/// gathered. Each costs an all-gather, and backward a reduce-scatter, of what a process's heads and sequences have of it, so keys that heads share
/// cost less. Where `Length` is whole nothing is sent. Positions that are counted at run time must be whole.
/// Source: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (2022), 4.2.2, for sequences that are split.
template<Dimension Length, Dimension Key, meshtf::detail::FloatingOperand X, Tensor K, Tensor V>
constexpr auto attention_along(X const& queries, K const& keys, V const& values, attention_options options = {},
                               std::source_location at = std::source_location::current()) {
  if constexpr (detail::gathers_memory<meshtf::detail::layout_in<X>, Length>()) {
    auto const all_keys   = rename<Length, all_of<Length>>(keys, at);
    auto const all_values = rename<Length, all_of<Length>>(values, at);
    return attention<Length, all_of<Length>, Key>(queries, all_keys, all_values, options, at);
  } else {
    return attention<Length, Length, Key>(queries, keys, values, options, at);
  }
}

}  // namespace nn
}  // namespace v0
}  // namespace meshtf
