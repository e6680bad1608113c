// What a scaled dot-product attention will do, decided before it runs.
#pragma once

#include <algorithm>

#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf::inline v0 {

/// Keys and values have the queries' dimensions, with those of the memory in the place of the query's: the same as `Expected`, in any order, not `Given`.
template<class Expected, class Given>
struct memory_has_other_dims {};

/// Attention compares every position with every other, within a process: the positions, and what a query and a key are compared along, are not split.
/// `reshard` to a layout that keeps them whole, or compose it of `einsum` and `softmax`, which send what that takes.
template<class Dim, class Axes>
struct attention_along_split_dim {};

/// Scaled dot-product attention in one process: for each pair (a head of a sequence) the queries look at the memory.
struct attention_steps {
  enum operand : std::size_t { query, key, value, result, row };  // `row`: one number for each query

  nest_steps pairs{};  // over the operands: where each pair begins
  extent queries = 1, memories = 1;  // positions
  extent depth = 1;  // elements of a query, a key and a value
  std::array<extent, 5> position{};  // elements from one position to the next
  std::array<extent, 5> element{};  // ... from one element of a query, key or value to the next
  bool causal = false;  // query i looks at the first i + 1 positions of the memory

  /// Multiplications and additions of one of the products: scores, or what they weigh. What the mask hides is counted too.
  constexpr extent product_flops() const { return 2 * pairs.turns * queries * memories * depth; }
  /// Scale, mask, maximum, exponential and sum.
  constexpr extent softmax_flops() const { return 5 * pairs.turns * queries * memories; }
};

/// Which gradients of an attention somebody wants.
struct attention_wishes {
  bool query = false, key = false, value = false;
};

template<class T>
struct attention_gradient_arrays {
  T const *query, *key, *value, *result, *log_total, *dresult;
  T *dquery, *dkey, *dvalue;  // null where nobody wants it
};

/// Products that a gradient takes, as the composition of einsum and softmax counts them: that the weights are computed again is our own matter.
constexpr extent attention_gradient_flops(attention_steps const& s, attention_wishes const& wants) {
  bool const scores = wants.query || wants.key;
  return s.product_flops() * (int{scores} + int{wants.query} + int{wants.key} + int{wants.value});
}

/// Positions of queries that are worked on together, and of the memory that they look at in one go; multiples of the number that sizes are padded to, so
/// that the kernel's tiles have no edges.
inline constexpr extent attention_block = 64, attention_span = 256, attention_grain = 16;
constexpr extent attention_padded(extent n) { return (n + attention_grain - 1) / attention_grain * attention_grain; }

/// Elements of scratch memory that this takes in one process: the kernel's buffers are part of the price.
constexpr extent attention_scratch(attention_steps const& s) {
  extent const rows = std::min(attention_block, attention_padded(s.queries)), memories = attention_padded(s.memories),
               depth = attention_padded(s.depth);
  return 2 * memories * depth + rows * (2 * depth + std::min(attention_span, memories) + 3);
}
constexpr extent attention_gradient_scratch(attention_steps const& s) {
  extent const rows = std::min(attention_block, attention_padded(s.queries)), memories = attention_padded(s.memories),
               depth = attention_padded(s.depth);
  return 4 * memories * depth + rows * (5 * depth + 2 * std::min(attention_block, memories) + 2);
}

namespace detail {

/// Where the pairs of an attention begin, and how its operands are walked. `operands` are the dimensions of each by their number in `loops`.
constexpr attention_steps plan_attention(std::span<extent const> loops, std::array<dim_list, 5> const& operands, int query, int memory, int key,
                                         bool causal) {
  auto const size = [&](int d) { return loops[static_cast<std::size_t>(d)]; };
  attention_steps s{.queries = size(query), .memories = size(memory), .depth = size(key), .causal = causal};
  nest_steps walk{.operands = 5};
  for (int d : operands[attention_steps::query])
    if (d != query && d != key) walk.size[static_cast<std::size_t>(walk.rank++)] = size(d);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto const strides   = strides_of(operands[k], loops);
    bool const in_memory = k == attention_steps::key || k == attention_steps::value;
    s.position[k]        = strides[static_cast<std::size_t>(in_memory ? memory : query)];
    s.element[k]         = strides[static_cast<std::size_t>(key)];
    std::size_t to       = 0;
    for (int d : operands[attention_steps::query])
      if (d != query && d != key) walk.stride[k][to++] = strides[static_cast<std::size_t>(d)];
  }
  s.pairs = collapsed(walk);
  return s;
}

template<class L, class D>
using whole_for_attention = std::conditional_t<is_undecided<L> || split_over<L, shape<D>> == 0, legal, attention_along_split_dim<D, axes_of<L, D>>>;

template<class Expected, class Given>
inline constexpr bool same_dims = without<Expected, Given>::rank == 0 && without<Given, Expected>::rank == 0;

}  // namespace detail

/// Queries of shape `Q` look at keys of shape `K` and values of shape `V`, positions `Query` at positions `Memory` (in self-attention the same dimension),
/// compared along `Key`. All other dimensions are batch: they may be split, and nothing is sent.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V>
struct attention_plan {
  using memory = std::conditional_t<std::same_as<Query, Memory>, Q, replaced<Q, Query, shape<Memory>>>;
  using row    = without<Q, shape<Key>>;
  using loops  = united<Q, shape<Memory>>;
  using verdict =
      first_objection<detail::dims_are_in<Q, Query, Key>, std::conditional_t<detail::same_dims<memory, K>, legal, memory_has_other_dims<memory, K>>,
                      std::conditional_t<detail::same_dims<memory, V>, legal, memory_has_other_dims<memory, V>>,
                      detail::whole_for_attention<L, Query>, detail::whole_for_attention<L, Memory>, detail::whole_for_attention<L, Key>,
                      placement_verdict_of<L, loops>>;

  static constexpr auto steps(bool causal) {
    using detail::plan_attention;
    return plan_attention(local_extents<L, loops>,
                          {dims_within<loops, Q>, dims_within<loops, K>, dims_within<loops, V>, dims_within<loops, Q>, dims_within<loops, row>},
                          dims_within<loops, shape<Query>>[0], dims_within<loops, shape<Memory>>[0], dims_within<loops, shape<Key>>[0], causal);
  }
};

/// `legal`, or the objection to `attention<Query, Memory, Key>` of these shapes.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V>
using attention_verdict = typename attention_plan<L, Query, Memory, Key, Q, K, V>::verdict;

}  // namespace meshtf::inline v0
