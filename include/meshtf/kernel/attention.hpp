// Scaled dot-product attention of one process, in the cache: one head of one sequence at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <meshtf/core/math.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/kernel/attention_rows.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

static_assert(attention_grain == tile_grain && attention_block % tile_grain == 0 && attention_span % attention_block == 0);

/// Attention of one process, and its gradient. The operands of each pair (a head of a sequence) are packed.
///
/// The score matrix has the memory's positions as rows and a block of queries as columns: maxima and sums then run down the columns, in all lanes at
/// once, and only the queries must be transposed. A block on the mask's diagonal is processed in strips, which leave out most of the hidden scores.
/// Source: Dao et al., FlashAttention (2022): maximum and sum are updated over pieces of the memory; the gradient recomputes the weights.
template<class T, class Arch>
class attention_work : attention_rows<T, Arch> {
  using rows_of = attention_rows<T, Arch>;
  using C       = computed<T>;

public:
  attention_work(attention_steps const& steps, double scale, C* scratch)
      : rows_of{steps, scratch}, factor_{static_cast<C>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(steps.depth)))} {}

  /// Pairs number `begin`, ..., `end` - 1.
  void forward(extent begin, extent end, T const* q, T const* k, T const* v, T* z, C* log_total) {
    using enum attention_steps::operand;
    C* const keys      = take(memories_ * depth_);
    C* const values    = take(memories_ * depth_);
    C* const queries   = take(depth_ * columns_);  // transposed
    C* const sums      = take(columns_ * depth_);
    C* const weights   = take(std::min(attention_span, memories_) * columns_);
    C* const most      = take(columns_);
    C* const total     = take(columns_);
    C* const shrinking = take(columns_);

    for_some_indices<5>(s_.pairs.sizes(), s_.pairs.stride, begin, end, [&](auto const& at) {  // where each operand of a pair begins
      pack(s_.memories, part(k, key, at), C(1), keys);
      pack(s_.memories, part(v, value, at), C(1), values);
      bool const finite = is_finite(s_.memories, values);
      for (extent first = 0; first < s_.queries; first += attention_block) {
        extent const rows = std::min(attention_block, s_.queries - first), seen = seen_from(first, rows);
        pack_transposed(rows, part(q, query, at).from(first), factor_, queries);
        for (extent j = 0; j < seen; j += attention_span) {
          extent const count = std::min(attention_span, seen - j);
          extent const open  = s_.causal ? std::clamp<extent>(first - j, 0, count) : count;  // rows before the diagonal
          scores(open, false, keys + j * depth_, queries, weights);
          scores(count - open, true, keys + (j + open) * depth_, queries, weights + open * columns_);
          weigh(open, count - open, j == 0, weights, most, total, shrinking);
          if (j > 0) scale_rows(rows, shrinking, sums);
          mix(rows, open, false, finite, weights, values + j * depth_, sums, j > 0);
          mix(rows, count - open, true, finite, weights + open * columns_, values + (j + open) * depth_, sums, j > 0 || open > 0);
        }
        finish(rows, most, total, part(log_total, row, at).from(first));
        unpack(rows, sums, [&](extent i) { return total[i]; }, part(z, result, at).from(first));
      }
    });
  }

  void backward(extent begin, extent end, attention_gradient_arrays<T> const& a) {
    using enum attention_steps::operand;
    bool const of_scores = a.dquery != nullptr || a.dkey != nullptr;
    extent const tile    = std::min(attention_block, memories_);
    C* const keys        = take(memories_ * depth_);
    C* const values      = take(memories_ * depth_);
    C* const dkeys       = take(memories_ * depth_);
    C* const dvalues     = take(memories_ * depth_);
    C* const queries     = take(columns_ * depth_);
    C* const queries_t   = take(depth_ * columns_);
    C* const dresults    = take(columns_ * depth_);
    C* const dresults_t  = take(depth_ * columns_);
    C* const dqueries    = take(columns_ * depth_);
    C* const weights     = take(tile * columns_);
    C* const dscores     = take(tile * columns_);
    C* const shift       = take(columns_);
    C* const mean        = take(columns_);

    for_some_indices<5>(s_.pairs.sizes(), s_.pairs.stride, begin, end, [&](auto const& at) {  // where each operand of a pair begins
      pack(s_.memories, part(a.key, key, at), C(1), keys);
      if (of_scores) pack(s_.memories, part(a.value, value, at), C(1), values);
      bool const finite_keys = is_finite(s_.memories, keys);
      for (extent first = 0; first < s_.queries; first += attention_block) {
        extent const rows = std::min(attention_block, s_.queries - first), seen = seen_from(first, rows);
        auto const q = part(a.query, query, at).from(first), dz = part(a.dresult, result, at).from(first);
        pack_transposed(rows, q, factor_, queries_t);
        pack(rows, dz, C(1), dresults);
        fetch(rows, part(a.log_total, row, at).from(first), shift);
        if (of_scores) {
          pack(rows, q, factor_, queries);
          pack_transposed(rows, dz, C(1), dresults_t);
          products_of_rows(rows, dresults, part(a.result, result, at).from(first), mean);
        }
        bool const finite_queries = !of_scores || is_finite(rows, queries), finite_results = is_finite(rows, dresults);
        for (extent j = 0; j < seen; j += attention_block) {
          extent const count  = std::min(attention_block, seen - j);
          bool const diagonal = s_.causal && j == first, again = s_.causal ? !diagonal : first > 0;
          scores(count, diagonal, keys + j * depth_, queries_t, weights);
          if (of_scores) scores(count, diagonal, values + j * depth_, dresults_t, dscores);
          weigh_again(count, diagonal, of_scores, shift, mean, weights, dscores);
          if (a.dvalue != nullptr) collect(rows, count, diagonal, finite_results, weights, dresults, dvalues + j * depth_, again);
          if (a.dkey != nullptr) collect(rows, count, diagonal, finite_queries, dscores, queries, dkeys + j * depth_, again);
          if (a.dquery != nullptr) mix(rows, count, diagonal, finite_keys, dscores, keys + j * depth_, dqueries, j > 0);
        }
        if (a.dquery != nullptr) unpack(rows, dqueries, [&](extent) { return factor_; }, part(a.dquery, query, at).from(first));
      }
      extent const seen = seen_from(0, s_.queries);
      if (a.dkey != nullptr) unpack_memory(seen, dkeys, part(a.dkey, key, at));
      if (a.dvalue != nullptr) unpack_memory(seen, dvalues, part(a.dvalue, value, at));
    });
  }

private:
  // Long functions are not inlined: copies of them would take long to compile and gain nothing.

  using rows_of::columns_;
  using rows_of::depth_;
  using rows_of::fetch;
  using rows_of::memories_;
  using rows_of::pack;
  using rows_of::pack_transposed;
  using rows_of::part;
  using rows_of::products_of_rows;
  using rows_of::s_;
  using rows_of::scale_rows;
  using rows_of::take;
  using rows_of::unpack;
  using rows_of::unpack_memory;
  using rows_of::width;
  using typename rows_of::batch;
  using typename rows_of::lanes;

  /// The number of positions of the memory that some of the queries first, ..., first + rows - 1 see.
  extent seen_from(extent first, extent rows) const { return s_.causal ? std::min(first + rows, s_.memories) : s_.memories; }

  /// f(from, n): the strips of a block on the diagonal; otherwise the whole block.
  template<class F>
  static void for_each_strip(bool diagonal, extent rows, F const& f) {
    for (extent i = 0, n = diagonal ? tile_grain : rows; i < rows; i += n) f(i, std::min(n, rows - i));
  }

  // Products of packed matrices. On the diagonal, row j of the weights is used from column j on only.

  /// weights[j, i] = keys[j] . queries[i], from transposed `queries`.
  void scores(extent count, bool diagonal, C const* keys, C const* queries, C* weights) const {
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      small_product<lanes>(attention_padded(n), columns_ - j, s_.depth, left_matrix<C>{keys + j * depth_, depth_, 1},
                           row_matrix<C const>{queries + j, columns_}, row_matrix<C>{weights + j * columns_ + j, columns_}, false);
    });
  }

  /// sums[i] (+)= sum over j of weights[j, i] * values[j].
  void mix(extent rows, extent count, bool diagonal, bool finite, C const* weights, C const* values, C* sums, bool add) const {
    if (count == 0) return;
    for_each_strip(diagonal, rows, [&](extent i, extent n) {
      extent const whole = diagonal ? std::min(count, finite ? i + n : i) : count;
      small_product<lanes>(attention_padded(n), depth_, whole, left_matrix<C>{weights + i, 1, columns_}, row_matrix<C const>{values, depth_},
                           row_matrix<C>{sums + i * depth_, depth_}, add);
      for (extent j = whole; diagonal && j < std::min(count, i + n); ++j)
        for (extent seen = j; seen < std::min(rows, i + n); ++seen) add_row(weights[j * columns_ + seen], values + j * depth_, sums + seen * depth_);
    });
  }

  /// sums[j] (+)= sum over i of weights[j, i] * from[i].
  void collect(extent rows, extent count, bool diagonal, bool finite, C const* weights, C const* from, C* sums, bool add) const {
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      extent const first = diagonal && !finite ? std::min(rows, j + n) : j;
      small_product<lanes>(attention_padded(n), depth_, rows - first, left_matrix<C>{weights + j * columns_ + first, columns_, 1},
                           row_matrix<C const>{from + first * depth_, depth_}, row_matrix<C>{sums + j * depth_, depth_}, add);
      for (extent i = j; i < first; ++i)
        for (extent seen = j; seen <= std::min(i, j + n - 1); ++seen) add_row(weights[seen * columns_ + i], from + i * depth_, sums + seen * depth_);
    });
  }

  /// sum += weight * row.
  void add_row(C weight, C const* row, C* sum) const {
    for (extent e = 0; e < depth_; e += width) lanes::store(lanes::load(sum + e) + batch(weight) * lanes::load(row + e), sum + e);
  }

  /// Whether all elements are finite. Others must not be multiplied with the zeros of hidden weights: on the diagonal they are left out, row by row.
  bool is_finite(extent rows, C const* packed) const {
    batch sum(C{});
    if (s_.causal)
      for (extent i = 0; i < rows * depth_; i += width) sum = sum + lanes::load(packed + i) * batch(C{});
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
    using math::exp;
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
    }
  }

  /// Stores the logarithms of the totals; the totals become the factors of the sums.
  void finish(extent rows, C const* most, C* total, positions<C> const& to) const {
    using math::log;
    for (extent c = 0; c < columns_; c += width) {
      batch const all = lanes::load(total + c);
      std::array<C, lanes::width> found;
      lanes::store(lanes::load(most + c) + log(all), found.data());
      lanes::store(batch(C(1)) / all, total + c);
      for (extent i = c; i < std::min(rows, c + width); ++i) to.at[i * to.position] = found[static_cast<std::size_t>(i - c)];
    }
  }

  C factor_;
};

}  // namespace detail

/// z = softmax(scale * q k) v for each pair, and log_total[query], the logarithm of the sum of exp(score) over what the query sees; scale 0 means 1 /
/// sqrt(depth). `scratch` holds `attention_scratch(steps)` elements for each thread; z and log_total overlap nothing. Threads share the pairs.
///
/// Sums run in a fixed order: the same operands give the same bits. A NaN in a key or value does not reach the queries from which the mask hides it.
/// Source: Vaswani et al., Attention Is All You Need (2017), 3.2.
template<class Arch = default_arch, class T>
void attend(attention_steps const& steps, double scale, T const* q, T const* k, T const* v, T* z, computed<T>* log_total, computed<T>* scratch) {
  extent const pairs = steps.pairs.turns, each = attention_scratch(steps);
  parallel_for(pairs, 1, pairs * steps.queries * steps.memories, [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, scale, scratch + thread * each).forward(begin, end, q, k, v, z, log_total);
  });
}

/// The gradients of q, k and v that are not null, from the results of `attend`. `scratch` holds `attention_gradient_scratch(steps)` elements for
/// each thread.
template<class Arch = default_arch, class T>
void attention_gradient(attention_steps const& steps, double scale, attention_gradient_arrays<T> const& arrays, computed<T>* scratch) {
  extent const pairs = steps.pairs.turns, each = attention_gradient_scratch(steps);
  parallel_for(pairs, 1, pairs * steps.queries * steps.memories, [&](extent begin, extent end, int thread) {
    detail::attention_work<T, Arch>(steps, scale, scratch + thread * each).backward(begin, end, arrays);
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(attend<T> const& task, attention_steps const& steps, place_in_mesh const&, T const* q, T const* k, T const* v, T* z,
             computed<T>* log_total, computed<T>* scratch) {
  attention_steps s = steps;
  s.causal          = task.causal;
  kernel::attend(s, task.scale, q, k, v, z, log_total, scratch);
}
template<Element T>
void compute(attention_gradient<T> const& task, attention_steps const& steps, place_in_mesh const&, attention_gradient_arrays<T> const& arrays,
             computed<T>* scratch) {
  attention_steps s = steps;
  s.causal          = task.causal;
  kernel::attention_gradient(s, task.scale, arrays, scratch);
}

#define MESHTF_ATTENTION(T)                                                                                                              \
  template void compute(attend<T> const&, attention_steps const&, place_in_mesh const&, T const*, T const*, T const*, T*, computed<T>*,  \
                        computed<T>*);                                                                                                   \
  template void compute(attention_gradient<T> const&, attention_steps const&, place_in_mesh const&, attention_gradient_arrays<T> const&, \
                        computed<T>*);
MESHTF_COMPILE_FLOATING(MESHTF_ATTENTION)
#undef MESHTF_ATTENTION

}  // namespace task
}  // namespace v0
}  // namespace meshtf
