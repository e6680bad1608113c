// What a scaled dot-product attention will do, decided before it runs.
#pragma once

#include <algorithm>

#include <meshtf/core/small_array.hpp>
#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Keys and values have the dimensions of the queries, with the memory's in place of the query's: `Expected`, in any order, but not `Given`.
template<class Expected, class Given>
struct memory_has_other_dims {};

/// Keys and values have `Groups` where the queries have `Heads`, so several heads share a key. Split the heads of q, and give k and v the new
/// dimension: `broadcast<..., Each>(k)`.
template<class Heads, class Groups>
struct heads_share_keys {};

/// Attention compares every position with every other within a process, so neither the positions nor the dimension along which queries and keys are
/// compared can be split. `reshard` to a layout that keeps them whole, or compose the operation of `einsum` and `softmax`, which send what is needed.
template<class Dim, class Axes>
struct attention_along_split_dim {};

/// Scaled dot-product attention in one process: in each pair (a head of a sequence) the queries attend to the memory.
struct attention_steps {
  enum operand : std::size_t { query, key, value, result, row };  // `row`: one number for each query

  nest_steps pairs{};  // over the operands: where each pair begins
  extent queries = 1, memories = 1;  // positions
  extent depth = 1;  // elements of a query, a key and a value
  small_array<extent, 5> position{};  // elements from one position to the next
  small_array<extent, 5> element{};  // elements from one element of a query, key or value to the next
  bool causal = false;  // query i attends to the first i + 1 positions of the memory

  static constexpr bool needs_whole = true;

  /// Arrays: queries, keys, values, results, one number per row. It asks for the loops over the queries' positions, the memory's, and the compared
  /// dimension.
  static constexpr attention_steps plan(task_loops const& l, loop_extents const& e);

  /// Multiplications and additions of one of the two products: the scores, or the weighted sum. Masked elements count too.
  constexpr extent product_flops() const { return 2 * pairs.turns * queries * memories * depth; }
  /// Scale, mask, maximum, exponential and sum.
  constexpr extent softmax_flops() const { return 5 * pairs.turns * queries * memories; }
};

/// Which gradients of an attention are wanted.
struct attention_wishes {
  bool query = false, key = false, value = false;
};

template<class T>
struct attention_gradient_arrays {
  T const *query, *key, *value, *result;
  computed<T> const* log_total;
  T const* dresult;
  T *dquery, *dkey, *dvalue;  // null if not wanted
};

/// Flops of the products in a gradient, counted as in the composition of einsum and softmax. Recomputing the weights is our own choice and is not
/// counted.
constexpr extent attention_gradient_flops(attention_steps const& s, attention_wishes const& wants) {
  bool const scores = wants.query || wants.key;
  return s.product_flops() * (int{scores} + int{wants.query} + int{wants.key} + int{wants.value});
}

/// The queries that are computed together, the positions of the memory that they attend to in one pass, and the number that sizes are padded to. The
/// first two are multiples of the third, so that the kernel's tiles have no edges.
inline constexpr extent attention_block = 64, attention_span = 256, attention_grain = 16;
constexpr extent attention_padded(extent n) { return (n + attention_grain - 1) / attention_grain * attention_grain; }

/// Elements of scratch memory that attention takes in one process: the kernel's buffers are part of the price.
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

constexpr attention_steps attention_steps::plan(task_loops const& l, loop_extents const& e) {
  int const query_loop = l.along[0], memory_loop = l.along[1], key_loop = l.along[2];
  auto const size = [&](int d) { return e.held[d]; };
  attention_steps s{.queries = size(query_loop), .memories = size(memory_loop), .depth = size(key_loop)};
  nest_steps walk{.operands = 5};
  for (int d : l.operand[query])
    if (d != query_loop && d != key_loop) walk.size[walk.rank++] = size(d);
  for (std::size_t k = 0; k < l.arrays().size(); ++k) {
    auto const strides   = strides_of(l.operand[k], e.storage());
    bool const in_memory = k == key || k == value;
    s.position[k]        = strides[in_memory ? memory_loop : query_loop];
    s.element[k]         = strides[key_loop];
    std::size_t to       = 0;
    for (int d : l.operand[query])
      if (d != query_loop && d != key_loop) walk.stride[k][to++] = strides[d];
  }
  s.pairs = collapsed(walk);
  return s;
}

namespace task {

/// z = the mean of the values, weighted for each query; log_total = the logarithm of the sum of each query's weights. Arrays: q, k, v, z, log_total.
template<Element T>
struct attend {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  bool causal                             = false;
  double scale                            = 0;  // 0 means 1 / sqrt(depth)

  static constexpr meshtf::work work(attention_steps const& s) {
    extent const rows = s.pairs.turns * s.queries;
    return {.kind        = "attention",
            .flops       = 2 * s.product_flops(),
            .elementwise = s.softmax_flops(),
            .bytes       = (2 * rows + 2 * s.pairs.turns * s.memories) * s.depth * extent{sizeof(T)} + rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_scratch(s); }
};
template<Element T>
void compute(attend<T> const&, attention_steps const& steps, place_in_mesh const&, T const* q, T const* k, T const* v, T* z, computed<T>* log_total,
             computed<T>* scratch);

/// The gradients that are wanted. Arrays: `attention_gradient_arrays<T>`.
template<Element T>
struct attention_gradient {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  attention_wishes wants{};
  bool causal  = false;
  double scale = 0;

  constexpr unsigned wishes() const { return detail::as_bits(wants.query, wants.key, wants.value); }
  static constexpr attention_gradient with(unsigned w) { return {{detail::has_bit(w, 0), detail::has_bit(w, 1), detail::has_bit(w, 2)}}; }

  constexpr meshtf::work work(attention_steps const& s) const {
    extent const rows = s.pairs.turns * s.queries, memories = s.pairs.turns * s.memories;
    extent const written = (wants.query ? rows : 0) + (wants.key ? memories : 0) + (wants.value ? memories : 0);
    return {.kind        = "attention",
            .flops       = attention_gradient_flops(s, wants),
            .elementwise = s.softmax_flops(),
            .bytes       = (3 * rows + 2 * memories + written) * s.depth * extent{sizeof(T)} + rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_gradient_scratch(s); }
};
template<Element T>
void compute(attention_gradient<T> const&, attention_steps const& steps, place_in_mesh const&, attention_gradient_arrays<T> const& arrays,
             computed<T>* scratch);

}  // namespace task

namespace detail {

template<class L, class D>
using whole_for_attention = std::conditional_t<is_undecided<L> || split_over<L, shape<D>> == 0, legal, attention_along_split_dim<D, axes_of<L, D>>>;

template<class Expected, class Given, class Missing = without<Expected, Given>, class Strange = without<Given, Expected>>
struct memory_objection : std::type_identity<memory_has_other_dims<Expected, Given>> {};
template<class Expected, class Given>
struct memory_objection<Expected, Given, shape<>, shape<>> : std::type_identity<legal> {};
template<class Expected, class Given, class Heads, class Groups>
  requires(Heads::size > Groups::size && Heads::size % Groups::size == 0)
struct memory_objection<Expected, Given, shape<Heads>, shape<Groups>> : std::type_identity<heads_share_keys<Heads, Groups>> {};

/// The verdict on keys or values of shape `Given`. If only one dimension other than `Memory` and `Key` differs, it may be that of grouped heads.
template<class Expected, class Given, class Memory, class Key>
using memory_verdict = std::conditional_t<Given::template has<Memory> && Given::template has<Key>, typename memory_objection<Expected, Given>::type,
                                          memory_has_other_dims<Expected, Given>>;

}  // namespace detail

/// Queries of shape `Q` attend to keys of shape `K` and values of shape `V`: positions `Query` to positions `Memory` (in self-attention the same
/// dimension), compared along `Key`. All other dimensions are batch dimensions: they may be split, and nothing is sent.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V>
struct attention_plan {
  using memory  = std::conditional_t<std::same_as<Query, Memory>, Q, replaced<Q, Query, shape<Memory>>>;
  using row     = without<Q, shape<Key>>;
  using loops   = united<Q, shape<Memory>>;
  using verdict = first_objection<detail::dims_are_in<Q, Query, Key>, detail::memory_verdict<memory, K, Memory, Key>,
                                  detail::memory_verdict<memory, V, Memory, Key>, detail::whole_for_attention<L, Query>,
                                  detail::whole_for_attention<L, Memory>, detail::whole_for_attention<L, Key>, placement_verdict_of<L, loops>>;

  static constexpr steps_under<L, attention_steps, loops> steps =
      plan_steps<L, attention_steps, loops, Query, Memory, Key>(arrays_of<Q, K, V, Q, row>{});
};

/// `legal`, or the objection to `attention<Query, Memory, Key>` of these shapes.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V>
using attention_verdict = typename attention_plan<L, Query, Memory, Key, Q, K, V>::verdict;

}  // namespace v0
}  // namespace meshtf
