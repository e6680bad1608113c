// What one process does in a scaled dot-product attention, and in its gradient, decided before it runs.
#pragma once

#include <algorithm>
#include <cstdint>

#include <meshtf/core/distribution.hpp>
#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/array_walk.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/shard_plan.hpp>

namespace meshtf {
inline namespace v0 {

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

}  // namespace v0
}  // namespace meshtf
