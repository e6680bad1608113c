// Scaled dot-product attention of one process, in the cache: one head of one sequence at a time.
//
// The algorithm, and its names, are FlashAttention's (Dao et al., FlashAttention: Fast and Memory-Efficient
// Exact Attention with IO-Awareness, 2022, algorithms 1 and 4; L is of FlashAttention-2, 2023). For a block
// of queries, over blocks of the memory:
//
//   forward    S = scale * Q K^T + bias             `scores`, `adjust`
//              m_new = max(m, row max of S)         `row_max`
//              P = exp(S - m_new)                   `weigh`
//              alpha = exp(m - m_new)               `rescale`
//              l = alpha * l + row sum of P         `row_sum`
//              O = alpha * O + P V                  `scale_rows`, `mix`
//              at the end O = O / l, and L = m + log(l) is kept for the backward pass (`finish`)
//   backward   D = row dot of dO and O              `row_dot`
//              P = exp(S - L), dP = dO V^T          `weigh_again`
//              dS = P * (dP - D)
//              dV += P^T dO, dK += dS^T Q, dQ += dS K   `collect`, `mix`
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/attention_drops.hpp>
#include <meshtf/kernel/attention_weights.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

static_assert(attention_grain == tile_grain && attention_block % tile_grain == 0 &&
              attention_span % attention_block == 0);

/// Attention of one process, and its gradient. The operands of each pair (the keys and values of a head of a
/// sequence) are packed, once for all queries that share them.
///
/// The weights are computed in blocks (`attention_weights`). The mask that hides all that comes later is part
/// of their computation. Any other mask, and a bias, is a pass over the scores of those blocks that it
/// concerns (`adjust`); blocks that no query sees are left out. Dropout is a pass over the weights, drawn for
/// each query along the memory, as `dropout` draws them (`attention_drops`).
/// Source: Dao et al., FlashAttention (2022): maximum and sum are updated over pieces of the memory; the
/// gradient recomputes the weights.
template<class T, class Arch>
class attention_work : attention_weights<T, Arch> {
  using weights_of = attention_weights<T, Arch>;
  using C          = computed<T>;
  using offsets    = std::array<extent, max_arrays>;

public:
  attention_work(attention_steps const& steps, attention_view const& view, double scale,
                 place_in_mesh const& here, C* scratch)
      : weights_of{steps, view, scratch},
        drops_{steps, view, here},
        factor_{static_cast<C>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(steps.depth)))} {}

  /// Pairs number `begin`, ..., `end` - 1.
  void forward(extent begin, extent end, attention_arrays<T> const& a) {
    using enum attention_steps::operand;
    C* const keys    = take(memories_ * depth_.padded);
    C* const values  = take(memories_ * width_.padded);
    C* const queries = take(depth_.padded * columns_);  // transposed
    C* const sums    = take(columns_ * width_.padded);
    C* const weights = take(std::min(attention_span, memories_) * columns_);
    C* const row_max = take(columns_);
    C* const row_sum = take(columns_);
    C* const rescale = take(columns_);
    take_terms();

    for_each_pair(begin, end, [&](auto const& pair) {
      auto const all = seen_from(0, s_.queries);
      pack(depth_, all.size(), part(a.key, key, pair).from(all.begin), C(1),
           keys + all.begin * depth_.padded);
      pack(width_, all.size(), part(a.value, value, pair).from(all.begin), C(1),
           values + all.begin * width_.padded);
      bool const finite = is_finite(width_, all.size(), values + all.begin * width_.padded);
      for_each_share(pair, [&](auto const& start) {
        fetch_terms(a.bias, a.query_segment, a.memory_segment, start);
        for (extent first = 0; first < s_.queries; first += attention_block) {
          extent const rows = std::min(attention_block, s_.queries - first);
          auto const seen   = seen_by(first, rows);
          pack_transposed(depth_, rows, part(a.query, query, start).from(first), factor_, queries);
          if (seen.size() == 0) {
            std::fill_n(row_sum, columns_, C{});
            std::fill_n(row_max, columns_, C{});
            std::fill_n(sums, columns_ * width_.padded, C{});
          }
          for (extent j = seen.begin; j < seen.end; j += attention_span) {
            extent const count = std::min(attention_span, seen.end - j);
            // rows before the diagonal
            extent const open = on_diagonal_ ? std::clamp<extent>(first - j, 0, count) : count;
            bool const add    = j > seen.begin;
            scores(depth_, open, false, keys + j * depth_.padded, queries, weights);
            scores(depth_, count - open, true, keys + (j + open) * depth_.padded, queries,
                   weights + open * columns_);
            if (adjusted_) adjust(j, count, first, rows, weights);
            weigh(open, count - open, !add, weights, row_max, row_sum, rescale);
            if (view_.dropped > 0) drop_some(start[row], first, rows, j, open, count - open, weights);
            if (add) scale_rows(width_, rows, rescale, sums);
            mix(width_, rows, open, false, finite, weights, values + j * width_.padded, sums, add);
            mix(width_, rows, count - open, true, finite, weights + open * columns_,
                values + (j + open) * width_.padded, sums, add || open > 0);
          }
          finish(rows, row_max, row_sum, part(a.log_total, row, start).from(first));
          unpack(
              width_, rows, sums, [&](extent i) { return row_sum[i]; },
              part(a.result, result, start).from(first));
        }
      });
    });
  }

  void backward(extent begin, extent end, attention_gradient_arrays<T> const& a) {
    using enum attention_steps::operand;
    bool const of_scores = a.dquery != nullptr || a.dkey != nullptr || a.dbias != nullptr;
    extent const tile    = std::min(attention_block, memories_);
    C* const keys        = take(memories_ * depth_.padded);
    C* const values      = take(memories_ * width_.padded);
    C* const dkeys       = take(memories_ * depth_.padded);
    C* const dvalues     = take(memories_ * width_.padded);
    C* const queries     = take(columns_ * depth_.padded);
    C* const queries_t   = take(depth_.padded * columns_);
    C* const dresults    = take(columns_ * width_.padded);
    C* const dresults_t  = take(width_.padded * columns_);
    C* const dqueries    = take(columns_ * depth_.padded);
    C* const weights     = take(tile * columns_);
    C* const dscores     = take(tile * columns_);
    C* const log_sum_exp = take(columns_);
    C* const row_dot     = take(columns_);
    take_terms();
    C* const dbiases = take(attention_row_of_biases(s_));

    for_each_pair(begin, end, [&](auto const& pair) {
      pack(depth_, s_.memories, part(a.key, key, pair), C(1), keys);
      if (of_scores) pack(width_, s_.memories, part(a.value, value, pair), C(1), values);
      if (adjusted_) {  // blocks are not seen in an order that says which is the first
        std::fill_n(dkeys, a.dkey != nullptr ? memories_ * depth_.padded : 0, C{});
        std::fill_n(dvalues, a.dvalue != nullptr ? memories_ * width_.padded : 0, C{});
      }
      bool const finite_keys = is_finite(depth_, s_.memories, keys);
      bool shared            = false;
      for_each_share(pair, [&](auto const& start) {
        fetch_terms(a.bias, a.query_segment, a.memory_segment, start);
        std::fill_n(dbiases, a.dbias != nullptr ? s_.distances : 0, C{});
        if (a.dbias != nullptr && s_.biased) clear_biases(a.dbias + start[bias]);
        for (extent first = 0; first < s_.queries; first += attention_block) {
          extent const rows = std::min(attention_block, s_.queries - first);
          auto const seen   = seen_by(first, rows);
          auto const q      = part(a.query, query, start).from(first);
          auto const dz     = part(a.dresult, result, start).from(first);
          pack_transposed(depth_, rows, q, factor_, queries_t);
          pack(width_, rows, dz, C(1), dresults);
          fetch(rows, part(a.log_total, row, start).from(first), log_sum_exp);
          if (of_scores) {
            pack(depth_, rows, q, factor_, queries);
            pack_transposed(width_, rows, dz, C(1), dresults_t);
            products_of_rows(width_, rows, dresults, part(a.result, result, start).from(first), row_dot);
          }
          bool const finite_queries = !of_scores || is_finite(depth_, rows, queries);
          bool const finite_results = is_finite(width_, rows, dresults);
          if (seen.size() == 0) std::fill_n(dqueries, columns_ * depth_.padded, C{});
          for (extent j = seen.begin; j < seen.end; j += attention_block) {
            extent const count  = std::min(attention_block, seen.end - j);
            bool const diagonal = on_diagonal_ && j == first;
            bool const again    = adjusted_ || shared || (on_diagonal_ ? !diagonal : first > 0);
            scores(depth_, count, diagonal, keys + j * depth_.padded, queries_t, weights);
            if (of_scores) scores(width_, count, diagonal, values + j * width_.padded, dresults_t, dscores);
            if (adjusted_) adjust(j, count, first, rows, weights);
            if (view_.dropped > 0) {
              drops_.draw(start[row], first, rows, j, count, attention_block);
              if (of_scores) drop_drawn(rows, count, diagonal, dscores);
            }
            weigh_again(count, diagonal, of_scores, log_sum_exp, row_dot, weights, dscores);
            if (view_.dropped > 0) drop_drawn(rows, count, diagonal, weights);
            if (a.dvalue != nullptr)
              collect(width_, rows, count, diagonal, finite_results, weights, dresults,
                      dvalues + j * width_.padded, again);
            if (a.dkey != nullptr)
              collect(depth_, rows, count, diagonal, finite_queries, dscores, queries,
                      dkeys + j * depth_.padded, again);
            if (a.dquery != nullptr)
              mix(depth_, rows, count, diagonal, finite_keys, dscores, keys + j * depth_.padded, dqueries,
                  j > seen.begin);
            if (a.dbias != nullptr && s_.biased)
              store_biases(j, count, first, rows, dscores, a.dbias + start[bias]);
            else if (a.dbias != nullptr) collect_biases(j, count, first, rows, dscores, dbiases);
          }
          if (a.dquery != nullptr)
            unpack(
                depth_, rows, dqueries, [&](extent) { return factor_; },
                part(a.dquery, query, start).from(first));
        }
        for (extent d = 0; a.dbias != nullptr && d < s_.distances; ++d)
          a.dbias[start[bias] + d * s_.element[bias]] = static_cast<T>(dbiases[d]);
        shared = true;
      });
      extent seen = 0;
      if (adjusted_) seen = s_.memories;
      else if (shared && s_.queries > 0) seen = seen_from(0, s_.queries).end;
      if (a.dkey != nullptr) unpack_memory(depth_, seen, dkeys, part(a.dkey, key, pair));
      if (a.dvalue != nullptr) unpack_memory(width_, seen, dvalues, part(a.dvalue, value, pair));
    });
  }

private:
  using weights_of::adjust;
  using weights_of::adjusted_;
  using weights_of::clear_biases;
  using weights_of::collect;
  using weights_of::collect_biases;
  using weights_of::columns_;
  using weights_of::depth_;
  using weights_of::fetch;
  using weights_of::fetch_terms;
  using weights_of::finish;
  using weights_of::is_finite;
  using weights_of::memories_;
  using weights_of::mix;
  using weights_of::on_diagonal_;
  using weights_of::pack;
  using weights_of::pack_transposed;
  using weights_of::part;
  using weights_of::products_of_rows;
  using weights_of::s_;
  using weights_of::scale_rows;
  using weights_of::scores;
  using weights_of::seen_by;
  using weights_of::seen_from;
  using weights_of::seen_on_diagonal;
  using weights_of::store_biases;
  using weights_of::take;
  using weights_of::take_terms;
  using weights_of::unpack;
  using weights_of::unpack_memory;
  using weights_of::view_;
  using weights_of::weigh;
  using weights_of::weigh_again;
  using weights_of::width;
  using weights_of::width_;

  /// f(at): where each operand of a pair begins.
  template<class F>
  void for_each_pair(extent begin, extent end, F const& f) const {
    for_some_indices<max_arrays>(s_.pairs.sizes(), s_.pairs.stride, begin, end, f);
  }
  /// The same for each head that shares the keys and values of the pair at `pair`.
  template<class F>
  void for_each_share(offsets const& pair, F const& f) const {
    for_each_index<max_arrays>(s_.shares.sizes(), s_.shares.stride, pair, f);
  }

  // Dropout. What the diagonal hides from a tile of queries is not touched.

  /// Drops weights of `rows` queries: of the positions begin, ..., first `open` rows that all of them see,
  /// then `count` rows of the diagonal.
  [[gnu::noinline]] void drop_some(extent row_offset, extent first, extent rows, extent begin, extent open,
                                   extent count, C* weights) {
    for (extent c = 0; c < rows; c += width) {
      extent const seen = open + (count > 0 ? seen_on_diagonal(c, count) : 0);
      drops_.draw(row_offset, first + c, std::min(width, rows - c), begin, seen, attention_span);
      drops_.apply(0, seen, attention_span, weights + c, columns_);
    }
  }
  /// Drops what `drops_` has drawn for a block.
  void drop_drawn(extent rows, extent count, bool diagonal, C* weights) const {
    for (extent c = 0; c < rows; c += width)
      drops_.apply(c, diagonal ? seen_on_diagonal(c, count) : count, attention_block, weights + c, columns_);
  }

  attention_drops<C, Arch> drops_;
  C factor_;
};

}  // namespace detail

/// z = softmax(scale * q k + bias) v for each pair, and log_total[query], the logarithm of the sum of
/// exp(score) over what the query sees; scale 0 means 1 / sqrt(depth). `scratch` holds
/// `attention_scratch(steps)` elements for each thread; z and log_total overlap nothing. Threads share the
/// pairs.
///
/// Sums run in a fixed order: the same operands give the same bits. A NaN in a key or value does not reach
/// the queries from which the mask hides it.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2.
template<class Arch = default_arch, class T>
void attend(attention_steps const& steps, attention_view const& view, double scale,
            attention_arrays<T> const& arrays, computed<T>* scratch, place_in_mesh const& here = {}) {
  extent const each = attention_scratch(steps);
  parallel_for(steps.pairs.iterations, 1, steps.weights(), [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, view, scale, here, scratch + thread * each)
        .forward(begin, end, arrays);
  });
}

/// The gradients that are not null, from the results of `attend`. `scratch` holds
/// `attention_gradient_scratch(steps)` elements for each thread.
template<class Arch = default_arch, class T>
void attention_gradient(attention_steps const& steps, attention_view const& view, double scale,
                        attention_gradient_arrays<T> const& arrays, computed<T>* scratch,
                        place_in_mesh const& here = {}) {
  extent const each = attention_gradient_scratch(steps);
  parallel_for(steps.pairs.iterations, 1, steps.weights(), [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, view, scale, here, scratch + thread * each)
        .backward(begin, end, arrays);
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void attend<T>::compute(attention_steps const& steps, place_in_mesh const& here,
                        attention_arrays<T> const& arrays, computed<T>* scratch) const {
  kernel::attend(steps, view.of_part(steps.first_query(here)), scale, arrays, scratch, here);
}
template<Element T>
void attention_gradient<T>::compute(attention_steps const& steps, place_in_mesh const& here,
                                    attention_gradient_arrays<T> const& arrays, computed<T>* scratch) const {
  kernel::attention_gradient(steps, view.of_part(steps.first_query(here)), scale, arrays, scratch, here);
}

#define MESHTF_ATTENTION(T)  \
  template struct attend<T>; \
  template struct attention_gradient<T>;
MESHTF_COMPILE_FLOATING(MESHTF_ATTENTION)
#undef MESHTF_ATTENTION

}  // namespace task
}  // namespace v0
}  // namespace meshtf
