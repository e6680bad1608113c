// What a scaled dot-product attention will do, decided before it runs.
#pragma once

#include <algorithm>
#include <cstdint>

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/array_walk.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/placement_needs.hpp>
#include <meshtf/plan/shard_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Keys have the dimensions of the queries, with the memory's in place of the query's: `Expected`, in any
/// order, or fewer of them, and values those of the keys, with one that says their width in place of the
/// compared one. But not `Given`.
template<class Expected, class Given>
struct memory_has_other_dims {};

/// Keys and values have `Groups` where the queries have `Heads`, but `Heads::size` is no multiple of
/// `Groups::size`: every key serves as many heads.
template<class Heads, class Groups>
struct heads_are_no_multiple {};

/// Keys and values have `Groups` where the queries have `Heads`, so several heads share a key. Split the
/// heads of q: the dimension that only q has shares the keys.
template<class Heads, class Groups>
struct heads_share_keys {};

/// A bias by distance has one element for each distance from a position to another: `Dim::size` must be
/// `Needed`, the positions of the queries and the memory less one.
template<class Dim, extent Needed>
struct bias_has_no_such_distances {};

/// A bias or segment ids have a dimension that the queries do not have, or one that they must not have, or
/// lack the one along which they lie.
template<class Expected, class Given>
struct term_has_other_dims {};

/// Attention compares a position with all of the memory within a process, so neither the memory nor the
/// dimension along which queries and keys are compared can be split. The queries can: give the memory a name
/// of its own that is whole,
/// `attention<length, memory, key>(q, rename<length, memory>(k), rename<length, memory>(v))`, which gathers
/// keys and values. Or `reshard` to a layout that keeps the positions whole.
template<class Dim, class Axes>
struct attention_along_split_dim {};

/// Scaled dot-product attention in one process: in each pair (the keys and values of a head of a sequence)
/// the queries of each `share` attend to the memory. There is one share, unless several heads have the same
/// keys.
struct attention_steps {
  // `row`: one number for each query. `bias`: one for each distance, or for each query and position of the
  // memory. The last two are segment ids of queries and memory.
  enum operand : std::size_t { query, key, value, result, row, bias, query_segment, memory_segment };

  // over the operands: where each begins
  array_walk pairs{};
  array_walk shares{};
  // positions
  extent queries  = 1;
  extent memories = 1;
  // elements of a query or key, and of a value
  extent depth     = 1;
  extent width     = 1;
  extent distances = 0;      // elements of a row of the bias
  extent at_zero   = 0;      // the number of the distance 0 among them
  bool biased      = false;  // the bias has an element for each score
  bool segments    = false;
  small_array<extent, max_arrays> position{};  // elements from one position to the next
  // elements from one element of a query, key or value to the next, from one bias to the next
  small_array<extent, max_arrays> element{};
  shard_steps rows{};       // of the array with one number for each query
  extent all_memories = 1;  // weights of a row, while the memory has its largest extent
  placed places{};          // of the queries

  /// Arrays: queries, keys, values, results, one number per row; then the bias and the segment ids, if there
  /// are any. It asks for the loops over the queries' positions, the memory's, the compared dimension, the
  /// width of values, and distances.
  static constexpr attention_steps plan(task_loops const& l, loop_extents const& e);

  /// The position of this process's first query among those of all.
  constexpr extent first_query(place_in_mesh const& here) const {
    return here.part_of(places.over) * places.allocated_extent();
  }
  constexpr extent weights() const { return pairs.iterations * shares.iterations * queries * memories; }
  /// Multiplications and additions of the two products: the scores, and the weighted sum. Masked elements
  /// count too.
  constexpr extent scores_flops() const { return 2 * weights() * depth; }
  constexpr extent mixture_flops() const { return 2 * weights() * width; }
  /// Scale, mask, maximum, exponential and sum, and the bias.
  constexpr extent softmax_flops() const { return (distances > 0 || biased ? 6 : 5) * weights(); }
  /// Elements of the bias of a share.
  constexpr extent biases() const { return biased ? queries * memories : distances; }
};

/// What a query sees, known at run time.
struct attention_view {
  bool causal    = false;  // of the memory, what is not after its own position
  extent first   = 0;      // the position of the first query
  extent reach   = 0;      // if > 0, only what is less than so far away
  double dropped = 0;      // the share of the weights that become 0, the others grow
  random_key random{};     // which of them

  /// Query i stands at position i, and nothing is hidden but what comes later.
  constexpr bool plain() const { return first == 0 && reach == 0; }
  /// The same view for a part of the queries that begins at this offset.
  constexpr attention_view of_part(extent begin) const {
    attention_view v = *this;
    v.first += begin;
    return v;
  }
};

/// Which gradients of an attention are wanted.
struct attention_wishes {
  bool query = false;
  bool key   = false;
  bool value = false;
  bool bias  = false;
};

template<class T>
struct attention_arrays {
  T const* query;
  T const* key;
  T const* value;
  T* result;
  computed<T>* log_total;
  T const* bias;  // null if there is none
  std::int32_t const* query_segment;
  std::int32_t const* memory_segment;
};

template<class T>
struct attention_gradient_arrays {
  T const* query;
  T const* key;
  T const* value;
  T const* result;
  computed<T> const* log_total;
  T const* dresult;
  // null if not wanted
  T* dquery;
  T* dkey;
  T* dvalue;
  T const* bias                      = nullptr;
  T* dbias                           = nullptr;
  std::int32_t const* query_segment  = nullptr;
  std::int32_t const* memory_segment = nullptr;
};

/// Flops of the products in a gradient, counted as in the composition of einsum and softmax. Recomputing the
/// weights is our own choice and is not counted.
constexpr extent attention_gradient_flops(attention_steps const& s, attention_wishes const& wants) {
  bool const scores = wants.query || wants.key || wants.bias;
  return s.scores_flops() * (int{wants.query} + int{wants.key}) +
         s.mixture_flops() * (int{scores} + int{wants.value});
}

/// The queries that are computed together, the positions of the memory that they attend to in one pass, and
/// the number that sizes are padded to. The first two are multiples of the third, so that the kernel's tiles
/// have no edges.
inline constexpr extent attention_block = 64;
inline constexpr extent attention_span  = 256;
inline constexpr extent attention_grain = 16;
constexpr extent attention_padded(extent n) {
  return (n + attention_grain - 1) / attention_grain * attention_grain;
}

/// Elements for the biases and segment ids of one share, and for the bias's gradient. A row of biases is read
/// past its ends by the queries of a block.
constexpr extent attention_row_of_biases(attention_steps const& s) {
  return s.distances > 0 ? s.distances + 2 * attention_block : 0;
}
constexpr extent attention_terms(attention_steps const& s) {
  return attention_row_of_biases(s) +
         (s.segments ? attention_padded(s.queries) + attention_block + s.memories : 0);
}

/// Elements of scratch memory that attention takes in one process: the kernel's buffers are part of the
/// price.
constexpr extent attention_scratch(attention_steps const& s) {
  extent const rows     = std::min(attention_block, attention_padded(s.queries));
  extent const memories = attention_padded(s.memories);
  extent const pairs    = attention_padded(s.depth) + attention_padded(s.width);
  return memories * pairs + rows * (pairs + std::min(attention_span, memories) + 3) + attention_terms(s);
}
constexpr extent attention_gradient_scratch(attention_steps const& s) {
  extent const rows     = std::min(attention_block, attention_padded(s.queries));
  extent const memories = attention_padded(s.memories);
  extent const depth    = attention_padded(s.depth);
  extent const width    = attention_padded(s.width);
  return 2 * memories * (depth + width) +
         rows * (3 * depth + 2 * width + 2 * std::min(attention_block, memories) + 2) + attention_terms(s) +
         attention_row_of_biases(s);
}

/// What dropping weights adds to the arithmetic of one pass, as `dropout` of them would.
constexpr extent attention_dropout_flops(attention_steps const& s, attention_view const& view) {
  return view.dropped > 0 ? s.weights() : 0;
}

constexpr attention_steps attention_steps::plan(task_loops const& l, loop_extents const& e) {
  int const query_loop    = l.along[0];
  int const memory_loop   = l.along[1];
  int const key_loop      = l.along[2];
  int const width_loop    = l.along[3];
  int const distance_loop = l.along[4];
  auto const size         = [&](int d) { return e.local[d]; };
  attention_steps s{.queries  = size(query_loop),
                    .memories = size(memory_loop),
                    .depth    = size(key_loop),
                    .width    = size(width_loop)};
  s.places       = l.dim[query_loop];
  s.all_memories = l.dim[memory_loop].size;
  for (int d : l.operand[row]) {
    s.rows.local[s.rows.rank] = e.local[d];
    s.rows.dim[s.rows.rank++] = l.dim[d];
  }
  if (distance_loop >= 0) {
    s.distances = size(distance_loop);
    s.at_zero   = e.allocated_extents()[static_cast<std::size_t>(memory_loop)] - 1;
  } else s.biased = l.operands > int{bias} && l.operand[bias].count > 0;
  s.segments       = l.operands > int{memory_segment} && l.operand[memory_segment].count > 0;
  unsigned in_keys = 0;
  for (int d : l.operand[key]) in_keys |= 1U << d;
  auto const loops_of = [&](bool shared) {
    return array_walk::plan(l, e, [&](int d) {
      return d != query_loop && d != key_loop && shared == ((in_keys >> d & 1U) == 0);
    });
  };
  s.pairs  = loops_of(false);
  s.shares = loops_of(true);
  for (int k = 0; k < l.operands; ++k) {
    auto const strides   = strides_of(l.operand[k], e.allocated_extents());
    bool const in_memory = k == int{key} || k == int{value} || k == int{memory_segment};
    s.position[k]        = strides[in_memory ? memory_loop : query_loop];
    int const bias_loop  = distance_loop >= 0 ? distance_loop : memory_loop;
    int const other_loop = k == int{value} || k == int{result} ? width_loop : key_loop;
    s.element[k]         = strides[k == int{bias} ? bias_loop : other_loop];
  }
  return s;
}

namespace task {

/// z = the mean of the values, weighted for each query; log_total = the logarithm of the sum of each query's
/// weights. Arrays: `attention_arrays<T>`.
template<Element T>
struct attend {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  attention_view view{};
  double scale = 0;  // 0 means 1 / sqrt(depth)

  constexpr unsigned options() const { return detail::to_bits(view.dropped > 0); }
  static constexpr attend from_bits(unsigned w) { return {{.dropped = detail::has_bit(w, 0) ? 0.5 : 0}}; }

  constexpr meshtf::work work(attention_steps const& s) const {
    extent const pairs  = s.pairs.iterations;
    extent const shares = pairs * s.shares.iterations;
    extent const rows   = shares * s.queries;
    return {.kind        = "attention",
            .flops       = s.scores_flops() + s.mixture_flops(),
            .elementwise = s.softmax_flops() + attention_dropout_flops(s, view),
            .bytes       = ((rows + pairs * s.memories) * (s.depth + s.width) + shares * s.biases()) *
                         extent{sizeof(T)} +
                     rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_scratch(s); }
};
template<Element T>
void compute(attend<T> const&, attention_steps const& steps, place_in_mesh const&,
             attention_arrays<T> const& arrays, computed<T>* scratch);

/// The gradients that are wanted. Arrays: `attention_gradient_arrays<T>`.
template<Element T>
struct attention_gradient {
  using steps_type                        = attention_steps;
  using scratch_type                      = computed<T>;
  static constexpr bool scratch_by_thread = true;
  attention_wishes wants{};
  attention_view view{};
  double scale = 0;

  constexpr unsigned options() const {
    return detail::to_bits(wants.query, wants.key, wants.value, wants.bias, view.dropped > 0);
  }
  static constexpr attention_gradient from_bits(unsigned w) {
    return {{detail::has_bit(w, 0), detail::has_bit(w, 1), detail::has_bit(w, 2), detail::has_bit(w, 3)},
            {.dropped = detail::has_bit(w, 4) ? 0.5 : 0}};
  }

  constexpr meshtf::work work(attention_steps const& s) const {
    extent const pairs    = s.pairs.iterations;
    extent const shares   = pairs * s.shares.iterations;
    extent const rows     = shares * s.queries;
    extent const memories = pairs * s.memories;
    extent const written  = (wants.query ? rows * s.depth : 0) + (wants.key ? memories * s.depth : 0) +
                           (wants.value ? memories * s.width : 0);
    extent const read = rows * (s.depth + 2 * s.width) + memories * (s.depth + s.width);
    return {.kind        = "attention",
            .flops       = attention_gradient_flops(s, wants),
            .elementwise = s.softmax_flops() + attention_dropout_flops(s, view),
            .bytes       = (read + written + shares * s.biases() * (wants.bias ? 2 : 1)) * extent{sizeof(T)} +
                     rows * extent{sizeof(computed<T>)}};
  }
  static constexpr extent scratch(attention_steps const& s) { return attention_gradient_scratch(s); }
};
template<Element T>
void compute(attention_gradient<T> const&, attention_steps const& steps, place_in_mesh const&,
             attention_gradient_arrays<T> const& arrays, computed<T>* scratch);

}  // namespace task

namespace detail {

template<class L, class D>
using whole_for_attention = std::conditional_t<always_split_over<L, shape<D>> == 0, legal,
                                               attention_along_split_dim<D, axes_of<L, D>>>;

/// The verdict on dimensions that must be whole.
template<class L, class S>
struct all_whole_for_attention;
template<class L, class... D>
struct all_whole_for_attention<L, shape<D...>> {
  using verdict = first_objection<whole_for_attention<L, D>...>;
};

/// The verdict on keys of shape `Given`, which may lack dimensions of `Expected`. If they have one other
/// dimension, it may be that of grouped heads.
template<class Expected, class Given, class Missing = without<Expected, Given>,
         class Strange = without<Given, Expected>>
struct keys_objection : std::type_identity<memory_has_other_dims<Expected, Given>> {};
template<class Expected, class Given, class Missing>
struct keys_objection<Expected, Given, Missing, shape<>> : std::type_identity<legal> {};
template<class Expected, class Given, class Heads, class Groups>
  requires(Heads::size > Groups::size && Heads::size % Groups::size == 0)
struct keys_objection<Expected, Given, shape<Heads>, shape<Groups>>
    : std::type_identity<heads_share_keys<Heads, Groups>> {};

template<class Expected, class Given, class Heads, class Groups>
  requires(Heads::size > Groups::size && Heads::size % Groups::size != 0)
struct keys_objection<Expected, Given, shape<Heads>, shape<Groups>>
    : std::type_identity<heads_are_no_multiple<Heads, Groups>> {};

template<class Expected, class Given, class Memory, class Key>
using keys_verdict = std::conditional_t<Given::template has<Memory> && Given::template has<Key>,
                                        typename keys_objection<Expected, Given>::type,
                                        memory_has_other_dims<Expected, Given>>;

/// The width of values of shape `V` with keys of shape `K`: `Key`, or the one dimension that they have in
/// its place.
template<class Key, class K, class V, class Q, class Missing = without<K, V>, class Strange = without<V, K>>
struct width_of_values {
  using type    = Key;
  using verdict = memory_has_other_dims<K, V>;
};
template<class Key, class K, class V, class Q>
struct width_of_values<Key, K, V, Q, shape<>, shape<>> {
  using type    = Key;
  using verdict = legal;
};
template<class Key, class K, class V, class Q, class Width>
  requires(!Q::template has<Width>)
struct width_of_values<Key, K, V, Q, shape<Key>, shape<Width>> {
  using type    = Width;
  using verdict = legal;
};

/// A bias of shape `B`. If it has the memory's dimension, it has an element for each score; otherwise one for
/// each distance, along the one dimension that it has and the queries do not.
template<class Query, class Memory, class Key, class Q, class B, class Strange = without<B, Q>>
struct shape_of_bias {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = term_has_other_dims<Q, B>;
};
template<class Query, class Memory, class Key, class Q>
struct shape_of_bias<Query, Memory, Key, Q, shape<>, shape<>> {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = legal;
};
template<class Query, class Memory, class Key, class Q, class B>
struct shape_of_bias<Query, Memory, Key, Q, B, shape<Memory>> {
  using distance                = shape<>;
  static constexpr extent count = 0;
  using verdict                 = std::conditional_t<B::template has<Key>, term_has_other_dims<Q, B>, legal>;
};
template<class Query, class Memory, class Key, class Q, class B, class Distance>
  requires(!std::same_as<Distance, Memory>)
struct shape_of_bias<Query, Memory, Key, Q, B, shape<Distance>> {
  using distance                 = shape<Distance>;
  static constexpr extent count  = Distance::size;
  static constexpr extent needed = Query::size + Memory::size - 1;
  using enough =
      std::conditional_t<(Distance::size >= needed), legal, bias_has_no_such_distances<Distance, needed>>;
  using verdict =
      std::conditional_t<B::template has<Key> || B::template has<Query>, term_has_other_dims<Q, B>, enough>;
};

/// Segment ids of shape `S` for rows of shape `Rows`, of which they have `Along`.
template<class Rows, class S, class Along>
using segments_verdict =
    std::conditional_t<S::rank == 0 || (S::template has<Along> && without<S, Rows>::rank == 0), legal,
                       term_has_other_dims<Rows, S>>;

template<class L, class Loops, class Query, class Memory, class Key, class Width, class... Distance,
         class... S>
constexpr auto plan_attention(shape<Distance...>, arrays_of<S...> arrays) {
  return plan_steps<L, attention_steps, Loops, Query, Memory, Key, Width, Distance...>(arrays);
}

}  // namespace detail

/// Queries of shape `Q` attend to keys of shape `K` and values of shape `V`: positions `Query` to positions
/// `Memory` (in self-attention the same dimension), compared along `Key`. All other dimensions are batch
/// dimensions: they may be split. Those that only the queries have, also their own positions, share the keys
/// and values, whose gradients are unreduced over the axes that split them; nothing else is sent. `B`, `QS`
/// and `MS` are the shapes of a bias and of segment ids, `shape<>` where there are none.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V, class B = shape<>,
         class QS = shape<>, class MS = shape<>>
struct attention_plan {
  using memory    = std::conditional_t<std::same_as<Query, Memory>, Q, replaced<Q, Query, shape<Memory>>>;
  using row       = without<Q, shape<Key>>;
  using widths    = detail::width_of_values<Key, K, V, Q>;
  using width     = typename widths::type;
  using result    = std::conditional_t<std::same_as<width, Key>, Q, replaced<Q, Key, shape<width>>>;
  using biases    = detail::shape_of_bias<Query, Memory, Key, Q, B>;
  using distance  = typename biases::distance;
  using pairs     = without<row, shape<Query>>;
  using full_bias = std::conditional_t<
      B::rank == 0, shape<>,
      united<pairs, std::conditional_t<distance::rank == 0, shape<Query, Memory>, distance>>>;
  using loops      = united<united<united<Q, shape<Memory>>, shape<width>>, distance>;
  using whole_dims = united<united<shape<Memory>, shape<Key>>, united<shape<width>, distance>>;
  using whole      = typename detail::all_whole_for_attention<L, whole_dims>::verdict;
  static constexpr unsplit needs{split_over<L, whole_dims>};
  using terms = first_objection<typename biases::verdict, detail::segments_verdict<row, QS, Query>,
                                detail::segments_verdict<without<memory, shape<Key>>, MS, Memory>>;
  using verdict =
      first_objection<detail::dims_are_in<Q, Query, Key>, detail::keys_verdict<memory, K, Memory, Key>,
                      typename widths::verdict, terms, whole, placement_verdict_of<L, loops>>;
  using arrays = std::conditional_t<B::rank + QS::rank + MS::rank == 0, arrays_of<Q, K, V, result, row>,
                                    arrays_of<Q, K, V, result, row, full_bias, QS, MS>>;

  static constexpr steps_under<L, attention_steps, loops> steps =
      detail::plan_attention<L, loops, Query, Memory, Key, width>(distance{}, arrays{});

  /// The elements of a row of the bias.
  static constexpr extent distance_count = biases::count;

  /// The gradients of keys and values are sums over what shares them, that of a bias over the queries.
  static constexpr axis_set memory_unreduced = split_over<L, without<Q, K>> & ~split_over<L, K>;
  static constexpr axis_set bias_unreduced   = split_over<L, shape<Query>> & ~split_over<L, full_bias>;
};

/// `legal`, or the objection to `attention<Query, Memory, Key>` of these shapes.
template<Layout L, class Query, class Memory, class Key, class Q, class K, class V, class B = shape<>,
         class QS = shape<>, class MS = shape<>>
using attention_verdict = typename attention_plan<L, Query, Memory, Key, Q, K, V, B, QS, MS>::verdict;

}  // namespace v0
}  // namespace meshtf
