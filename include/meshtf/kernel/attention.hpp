// Scaled dot-product attention of one process, in the cache: one head of one sequence at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <meshtf/core/math.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/attention_drops.hpp>
#include <meshtf/kernel/attention_masks.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

static_assert(attention_grain == tile_grain && attention_block % tile_grain == 0 && attention_span % attention_block == 0);

/// Attention of one process, and its gradient. The operands of each pair (the keys and values of a head of a sequence) are packed, once for all
/// queries that share them.
///
/// The score matrix has the memory's positions as rows and a block of queries as columns: maxima and sums then run down the columns, in all lanes at
/// once, and only the queries must be transposed. A block on the mask's diagonal is processed in strips, which leave out most of the hidden scores.
/// Any other mask, and a bias, is a pass over the scores of those blocks that it concerns (`adjust`); blocks that no query sees are left out. Dropout
/// is a pass over the weights, drawn for each query along the memory, as `dropout` draws them (`attention_drops`).
/// Source: Dao et al., FlashAttention (2022): maximum and sum are updated over pieces of the memory; the gradient recomputes the weights.
template<class T, class Arch>
class attention_work : attention_masks<T, Arch> {
  using masks_of = attention_masks<T, Arch>;
  using C        = computed<T>;
  using offsets  = std::array<extent, max_arrays>;

public:
  attention_work(attention_steps const& steps, attention_view const& view, double scale, place_in_mesh const& here, C* scratch)
      : masks_of{steps, view, scratch},
        drops_{steps, view, here},
        factor_{static_cast<C>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(steps.depth)))} {}

  /// Pairs number `begin`, ..., `end` - 1.
  void forward(extent begin, extent end, attention_arrays<T> const& a) {
    using enum attention_steps::operand;
    C* const keys      = take(memories_ * depth_.padded);
    C* const values    = take(memories_ * width_.padded);
    C* const queries   = take(depth_.padded * columns_);  // transposed
    C* const sums      = take(columns_ * width_.padded);
    C* const weights   = take(std::min(attention_span, memories_) * columns_);
    C* const most      = take(columns_);
    C* const total     = take(columns_);
    C* const shrinking = take(columns_);
    take_terms();

    for_each_pair(begin, end, [&](auto const& pair) {
      auto const all = seen_from(0, s_.queries);
      pack(depth_, all.size(), part(a.key, key, pair).from(all.begin), C(1), keys + all.begin * depth_.padded);
      pack(width_, all.size(), part(a.value, value, pair).from(all.begin), C(1), values + all.begin * width_.padded);
      bool const finite = is_finite(width_, all.size(), values + all.begin * width_.padded);
      for_each_share(pair, [&](auto const& at) {
        fetch_terms(a.bias, a.query_segment, a.memory_segment, at);
        for (extent first = 0; first < s_.queries; first += attention_block) {
          extent const rows = std::min(attention_block, s_.queries - first);
          auto const seen   = seen_from(first, rows);
          pack_transposed(depth_, rows, part(a.query, query, at).from(first), factor_, queries);
          if (seen.size() == 0) std::fill_n(total, columns_, C{}), std::fill_n(most, columns_, C{}), std::fill_n(sums, columns_ * width_.padded, C{});
          for (extent j = seen.begin; j < seen.end; j += attention_span) {
            extent const count = std::min(attention_span, seen.end - j);
            extent const open  = on_diagonal_ ? std::clamp<extent>(first - j, 0, count) : count;  // rows before the diagonal
            bool const add     = j > seen.begin;
            scores(depth_, open, false, keys + j * depth_.padded, queries, weights);
            scores(depth_, count - open, true, keys + (j + open) * depth_.padded, queries, weights + open * columns_);
            if (adjusted_) adjust(j, count, first, rows, weights);
            weigh(open, count - open, !add, weights, most, total, shrinking);
            if (view_.dropped > 0) drop_some(at[row], first, rows, j, open, count - open, weights);
            if (add) scale_rows(width_, rows, shrinking, sums);
            mix(width_, rows, open, false, finite, weights, values + j * width_.padded, sums, add);
            mix(width_, rows, count - open, true, finite, weights + open * columns_, values + (j + open) * width_.padded, sums, add || open > 0);
          }
          finish(rows, most, total, part(a.log_total, row, at).from(first));
          unpack(width_, rows, sums, [&](extent i) { return total[i]; }, part(a.result, result, at).from(first));
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
    C* const shift       = take(columns_);
    C* const mean        = take(columns_);
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
      for_each_share(pair, [&](auto const& at) {
        fetch_terms(a.bias, a.query_segment, a.memory_segment, at);
        std::fill_n(dbiases, a.dbias != nullptr ? s_.distances : 0, C{});
        if (a.dbias != nullptr && s_.biased) clear_biases(a.dbias + at[bias]);
        for (extent first = 0; first < s_.queries; first += attention_block) {
          extent const rows = std::min(attention_block, s_.queries - first);
          auto const seen   = seen_from(first, rows);
          auto const q = part(a.query, query, at).from(first), dz = part(a.dresult, result, at).from(first);
          pack_transposed(depth_, rows, q, factor_, queries_t);
          pack(width_, rows, dz, C(1), dresults);
          fetch(rows, part(a.log_total, row, at).from(first), shift);
          if (of_scores) {
            pack(depth_, rows, q, factor_, queries);
            pack_transposed(width_, rows, dz, C(1), dresults_t);
            products_of_rows(width_, rows, dresults, part(a.result, result, at).from(first), mean);
          }
          bool const finite_queries = !of_scores || is_finite(depth_, rows, queries), finite_results = is_finite(width_, rows, dresults);
          if (seen.size() == 0) std::fill_n(dqueries, columns_ * depth_.padded, C{});
          for (extent j = seen.begin; j < seen.end; j += attention_block) {
            extent const count  = std::min(attention_block, seen.end - j);
            bool const diagonal = on_diagonal_ && j == first, again = adjusted_ || shared || (on_diagonal_ ? !diagonal : first > 0);
            scores(depth_, count, diagonal, keys + j * depth_.padded, queries_t, weights);
            if (of_scores) scores(width_, count, diagonal, values + j * width_.padded, dresults_t, dscores);
            if (adjusted_) adjust(j, count, first, rows, weights);
            if (view_.dropped > 0) {
              drops_.draw(at[row], first, rows, j, count, attention_block);
              if (of_scores) drop_drawn(rows, count, diagonal, dscores);
            }
            weigh_again(count, diagonal, of_scores, shift, mean, weights, dscores);
            if (view_.dropped > 0) drop_drawn(rows, count, diagonal, weights);
            if (a.dvalue != nullptr) collect(width_, rows, count, diagonal, finite_results, weights, dresults, dvalues + j * width_.padded, again);
            if (a.dkey != nullptr) collect(depth_, rows, count, diagonal, finite_queries, dscores, queries, dkeys + j * depth_.padded, again);
            if (a.dquery != nullptr) mix(depth_, rows, count, diagonal, finite_keys, dscores, keys + j * depth_.padded, dqueries, j > seen.begin);
            if (a.dbias != nullptr && s_.biased) store_biases(j, count, first, rows, dscores, a.dbias + at[bias]);
            else if (a.dbias != nullptr) collect_biases(j, count, first, rows, dscores, dbiases);
          }
          if (a.dquery != nullptr) unpack(depth_, rows, dqueries, [&](extent) { return factor_; }, part(a.dquery, query, at).from(first));
        }
        for (extent d = 0; a.dbias != nullptr && d < s_.distances; ++d) a.dbias[at[bias] + d * s_.element[bias]] = static_cast<T>(dbiases[d]);
        shared = true;
      });
      extent const seen = adjusted_ ? s_.memories : !shared || s_.queries == 0 ? 0 : seen_from(0, s_.queries).end;
      if (a.dkey != nullptr) unpack_memory(depth_, seen, dkeys, part(a.dkey, key, pair));
      if (a.dvalue != nullptr) unpack_memory(width_, seen, dvalues, part(a.dvalue, value, pair));
    });
  }

private:
  // Long functions are not inlined: copies of them would take long to compile and gain nothing.

  using masks_of::adjust;
  using masks_of::adjusted_;
  using masks_of::clear_biases;
  using masks_of::collect_biases;
  using masks_of::columns_;
  using masks_of::depth_;
  using masks_of::fetch;
  using masks_of::fetch_terms;
  using masks_of::memories_;
  using masks_of::on_diagonal_;
  using masks_of::pack;
  using masks_of::pack_transposed;
  using masks_of::part;
  using masks_of::products_of_rows;
  using masks_of::s_;
  using masks_of::scale_rows;
  using masks_of::seen_from;
  using masks_of::store_biases;
  using masks_of::take;
  using masks_of::take_terms;
  using masks_of::unpack;
  using masks_of::unpack_memory;
  using masks_of::view_;
  using masks_of::width;
  using masks_of::width_;
  using typename masks_of::batch;
  using typename masks_of::lanes;

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

  /// f(from, n): the strips of a block on the diagonal; otherwise the whole block.
  template<class F>
  static void for_each_strip(bool diagonal, extent rows, F const& f) {
    for (extent i = 0, n = diagonal ? tile_grain : rows; i < rows; i += n) f(i, std::min(n, rows - i));
  }

  // Products of packed matrices. On the diagonal, row j of the weights is used from column j on only.

  /// weights[j, i] = keys[j] . queries[i], from transposed `queries`.
  void scores(row_length const& of, extent count, bool diagonal, C const* keys, C const* queries, C* weights) const {
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      small_product<lanes>(attention_padded(n), columns_ - j, of.n, left_matrix<C>{keys + j * of.padded, of.padded, 1},
                           row_matrix<C const>{queries + j, columns_}, row_matrix<C>{weights + j * columns_ + j, columns_}, false);
    });
  }

  /// sums[i] (+)= sum over j of weights[j, i] * values[j].
  void mix(row_length const& of, extent rows, extent count, bool diagonal, bool finite, C const* weights, C const* values, C* sums, bool add) const {
    if (count == 0) return;
    if (adjusted_ && !finite) return mix_seen(of, rows, count, weights, values, sums, add);
    for_each_strip(diagonal, rows, [&](extent i, extent n) {
      extent const whole = diagonal ? std::min(count, finite ? i + n : i) : count;
      small_product<lanes>(attention_padded(n), of.padded, whole, left_matrix<C>{weights + i, 1, columns_}, row_matrix<C const>{values, of.padded},
                           row_matrix<C>{sums + i * of.padded, of.padded}, add);
      for (extent j = whole; diagonal && j < std::min(count, i + n); ++j)
        for (extent seen = j; seen < std::min(rows, i + n); ++seen)
          add_row(of, weights[j * columns_ + seen], values + j * of.padded, sums + seen * of.padded);
    });
  }

  /// sums[j] (+)= sum over i of weights[j, i] * from[i].
  void collect(row_length const& of, extent rows, extent count, bool diagonal, bool finite, C const* weights, C const* from, C* sums,
               bool add) const {
    if (adjusted_ && !finite) return collect_seen(of, rows, count, weights, from, sums);
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      extent const first = diagonal && !finite ? std::min(rows, j + n) : j;
      small_product<lanes>(attention_padded(n), of.padded, rows - first, left_matrix<C>{weights + j * columns_ + first, columns_, 1},
                           row_matrix<C const>{from + first * of.padded, of.padded}, row_matrix<C>{sums + j * of.padded, of.padded}, add);
      for (extent i = j; i < first; ++i)
        for (extent seen = j; seen <= std::min(i, j + n - 1); ++seen)
          add_row(of, weights[seen * columns_ + i], from + i * of.padded, sums + seen * of.padded);
    });
  }

  // The same products without what has no weight: what is hidden may be no number.
  [[gnu::noinline]] void mix_seen(row_length const& of, extent rows, extent count, C const* weights, C const* values, C* sums, bool add) const {
    if (!add) std::fill_n(sums, rows * of.padded, C{});
    for (extent i = 0; i < rows; ++i)
      for (extent j = 0; j < count; ++j)
        if (C const w = weights[j * columns_ + i]; w != C{}) add_row(of, w, values + j * of.padded, sums + i * of.padded);
  }
  [[gnu::noinline]] void collect_seen(row_length const& of, extent rows, extent count, C const* weights, C const* from, C* sums) const {
    for (extent j = 0; j < count; ++j)
      for (extent i = 0; i < rows; ++i)
        if (C const w = weights[j * columns_ + i]; w != C{}) add_row(of, w, from + i * of.padded, sums + j * of.padded);
  }

  /// sum += weight * row.
  void add_row(row_length const& of, C weight, C const* row, C* sum) const {
    for (extent e = 0; e < of.padded; e += width) lanes::store(lanes::load(sum + e) + batch(weight) * lanes::load(row + e), sum + e);
  }

  /// Whether all elements are finite. Others must not be multiplied with the zeros of hidden weights: where there are such, they are left out, row by
  /// row.
  bool is_finite(row_length const& of, extent rows, C const* packed) const {
    batch sum(C{});
    if (view_.causal || adjusted_)
      for (extent i = 0; i < rows * of.padded; i += width) sum = sum + lanes::load(packed + i) * batch(C{});
    return lanes::sum(sum) == C{};
  }

  // Passes over the weights: one batch of columns after the other, down all rows.

  /// Calls f(row, hides) for the rows that the columns c, ..., c + width - 1 need: `hides(x, y)` is y in the
  /// lanes that don't see the row and x in the others.
  template<class F>
  [[gnu::always_inline]] static void for_each_diagonal_row(extent c, extent count, F const& f) {
    using math::select;
    static constexpr auto numbers = [] {
      std::array<C, tile_grain> n{};
      for (std::size_t i = 0; i < n.size(); ++i) n[i] = static_cast<C>(i);
      return n;
    }();
    extent const whole = std::min(count, c + 1), end = std::min(count, c / tile_grain * tile_grain + tile_grain);
    batch const lane = lanes::load(numbers.data());
    for (extent r = 0; r < whole; ++r) f(r, [](batch const& x, batch const&) { return x; });
    for (extent r = whole; r < end; ++r) f(r, [&](batch const& x, batch const& y) { return select(lane >= batch(static_cast<C>(r - c)), x, y); });
  }

  /// Turns scores into weights, exp(score - maximum), and sums them: first `open` rows that all columns see, then `count` rows of the
  /// diagonal. Unless this piece of the memory `begins`, `most` and `total` hold the maxima and sums of earlier pieces; `shrinking` gets the
  /// factor by which those pieces must now be multiplied.
  [[gnu::noinline]] void weigh(extent open, extent count, bool begins, C* weights, C* most, C* total, C* shrinking) const {
    using math::exp, math::max, math::select;
    for (extent c = 0; c < columns_; c += width) {
      C* const top       = weights + c;
      C* const diagonal  = top + open * columns_;
      batch const before = begins ? batch(-std::numeric_limits<C>::infinity()) : lanes::load(most + c);
      std::array<batch, 4> high{before, before, before, before};
      extent r = 0;
      for (; r + 4 <= open; r += 4)
        unrolled<4>([&](auto n)
                        __attribute__((always_inline)) { high[n] = max(high[n], lanes::load(top + (r + static_cast<extent>(n())) * columns_)); });
      for (; r < open; ++r) high[0] = max(high[0], lanes::load(top + r * columns_));
      for_each_diagonal_row(c, count,
                            [&](extent d, auto const& hides) { high[0] = max(high[0], hides(lanes::load(diagonal + d * columns_), high[0])); });
      batch const now = max(max(high[0], high[1]), max(high[2], high[3]));
      // if all scores so far are -infinity, all weights are 0, but a later piece may have larger scores
      batch const from = select(now == batch(-std::numeric_limits<C>::infinity()), batch(C{}), now);

      std::array<batch, 4> sum{batch(C{}), batch(C{}), batch(C{}), batch(C{})};
      auto const weight = [&](C* at, std::size_t n) __attribute__((always_inline)) {
        batch const w = exp(lanes::load(at) - from);
        sum[n]        = sum[n] + w;
        lanes::store(w, at);
      };
      for (r = 0; r + 4 <= open; r += 4)
        unrolled<4>([&](auto n) __attribute__((always_inline)) { weight(top + (r + static_cast<extent>(n())) * columns_, n); });
      for (; r < open; ++r) weight(top + r * columns_, 0);
      for_each_diagonal_row(c, count, [&](extent d, auto const& hides) {
        C* const at   = diagonal + d * columns_;
        batch const w = hides(exp(lanes::load(at) - from), batch(C{}));
        sum[0]        = sum[0] + w;
        lanes::store(w, at);
      });
      batch all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      if (!begins) {
        batch const less = exp(before - from);
        lanes::store(less, shrinking + c);
        all = all + less * lanes::load(total + c);
      }
      lanes::store(all, total + c);
      lanes::store(now, most + c);
    }
  }

  /// Turns scores into weights again, and `dscores` from the gradients of the weights into the gradients of the scores.
  [[gnu::noinline]] void weigh_again(extent count, bool diagonal, bool of_scores, C const* shift, C const* mean, C* weights, C* dscores) const {
    using math::exp, math::select;
    for (extent c = 0; c < columns_; c += width) {
      batch const by = lanes::load(shift + c), middle = of_scores ? lanes::load(mean + c) : batch(C{});
      auto const weight = [&](extent r, auto const& hides) __attribute__((always_inline)) {
        C* const at   = weights + r * columns_ + c;
        C* const d    = dscores + r * columns_ + c;
        batch const w = hides(exp(lanes::load(at) - by), batch(C{}));
        lanes::store(w, at);
        if (of_scores) lanes::store(hides(w * (lanes::load(d) - middle), batch(C{})), d);
      };
      if (diagonal) for_each_diagonal_row(c, count, weight);
      else
        for (extent r = 0; r < count; ++r) weight(r, [](batch const& x, batch const&) { return x; });
      if (adjusted_ && of_scores)  // a hidden score changes nothing, even if a value that it hides is no number
        for (extent r = 0; r < count; ++r) {
          C* const d = dscores + r * columns_ + c;
          lanes::store(select(lanes::load(weights + r * columns_ + c) == batch(C{}), batch(C{}), lanes::load(d)), d);
        }
    }
  }

  // Dropout. What the diagonal hides from a tile of queries is not touched.

  /// The last of `count` rows of a diagonal block that some of the columns c, ..., c + width - 1 see, and those behind that are hidden from all.
  static extent seen_on_diagonal(extent c, extent count) { return std::min(count, c / tile_grain * tile_grain + tile_grain); }

  /// Drops weights of `rows` queries: of the positions begin, ..., first `open` rows that all of them see, then `count` rows of the diagonal.
  [[gnu::noinline]] void drop_some(extent row_offset, extent first, extent rows, extent begin, extent open, extent count, C* weights) {
    for (extent c = 0; c < rows; c += width) {
      extent const seen = open + (count > 0 ? seen_on_diagonal(c, count) : 0);
      drops_.draw(row_offset, first + c, std::min(width, rows - c), begin, seen, attention_span);
      drops_.apply(0, seen, attention_span, weights + c, columns_);
    }
  }
  /// Drops what `drops_` has drawn for a block.
  void drop_drawn(extent rows, extent count, bool diagonal, C* weights) const {
    for (extent c = 0; c < rows; c += width) drops_.apply(c, diagonal ? seen_on_diagonal(c, count) : count, attention_block, weights + c, columns_);
  }

  /// Stores the logarithms of the totals; the totals become the factors of the sums. A query from which everything is hidden gets zeros, and gives
  /// none its gradient: its logarithm is infinite.
  void finish(extent rows, C const* most, C* total, positions<C> const& to) const {
    using math::log, math::select;
    for (extent c = 0; c < columns_; c += width) {
      batch const all = lanes::load(total + c);
      std::array<C, lanes::width> found;
      batch logs = lanes::load(most + c) + log(all), factors = batch(C(1)) / all;
      if (adjusted_ || s_.memories == 0) {
        batch const nothing(C{});
        logs    = select(all == nothing, batch(std::numeric_limits<C>::infinity()), logs);
        factors = select(all == nothing, nothing, factors);
      }
      lanes::store(logs, found.data());
      lanes::store(factors, total + c);
      for (extent i = c; i < std::min(rows, c + width); ++i) to.at[i * to.position] = found[static_cast<std::size_t>(i - c)];
    }
  }

  attention_drops<C, Arch> drops_;
  C factor_;
};

}  // namespace detail

/// z = softmax(scale * q k + bias) v for each pair, and log_total[query], the logarithm of the sum of exp(score) over what the query sees; scale 0
/// means 1 / sqrt(depth). `scratch` holds `attention_scratch(steps)` elements for each thread; z and log_total overlap nothing. Threads share the
/// pairs.
///
/// Sums run in a fixed order: the same operands give the same bits. A NaN in a key or value does not reach the queries from which the mask hides it.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2.
template<class Arch = default_arch, class T>
void attend(attention_steps const& steps, attention_view const& view, double scale, attention_arrays<T> const& arrays, computed<T>* scratch,
            place_in_mesh const& here = {}) {
  extent const each = attention_scratch(steps);
  parallel_for(steps.pairs.turns, 1, steps.weights(), [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, view, scale, here, scratch + thread * each).forward(begin, end, arrays);
  });
}

/// The gradients that are not null, from the results of `attend`. `scratch` holds `attention_gradient_scratch(steps)` elements for each thread.
template<class Arch = default_arch, class T>
void attention_gradient(attention_steps const& steps, attention_view const& view, double scale, attention_gradient_arrays<T> const& arrays,
                        computed<T>* scratch, place_in_mesh const& here = {}) {
  extent const each = attention_gradient_scratch(steps);
  parallel_for(steps.pairs.turns, 1, steps.weights(), [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, view, scale, here, scratch + thread * each).backward(begin, end, arrays);
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(attend<T> const& task, attention_steps const& steps, place_in_mesh const& here, attention_arrays<T> const& arrays,
             computed<T>* scratch) {
  kernel::attend(steps, task.view.of_part(steps.first_query(here)), task.scale, arrays, scratch, here);
}
template<Element T>
void compute(attention_gradient<T> const& task, attention_steps const& steps, place_in_mesh const& here, attention_gradient_arrays<T> const& arrays,
             computed<T>* scratch) {
  kernel::attention_gradient(steps, task.view.of_part(steps.first_query(here)), task.scale, arrays, scratch, here);
}

#define MESHTF_ATTENTION(T)                                                                                                              \
  template void compute(attend<T> const&, attention_steps const&, place_in_mesh const&, attention_arrays<T> const&, computed<T>*);       \
  template void compute(attention_gradient<T> const&, attention_steps const&, place_in_mesh const&, attention_gradient_arrays<T> const&, \
                        computed<T>*);
MESHTF_COMPILE_FLOATING(MESHTF_ATTENTION)
#undef MESHTF_ATTENTION

}  // namespace task
}  // namespace v0
}  // namespace meshtf
