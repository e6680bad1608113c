// A block of the weights of an attention: how they come from scores, and the products in which they are used.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include <meshtf/core/math.hpp>
#include <meshtf/kernel/attention_masks.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/kernel/small_gemm.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Scores, weights, and their products with packed rows.
///
/// The score matrix has the memory's positions as rows and a block of queries as columns: maxima and sums
/// then run down the columns, in all lanes at once, and only the queries must be transposed. A block on the
/// mask's diagonal is processed in strips, which leave out most of the hidden scores.
template<class T, class Arch>
class attention_weights : protected attention_masks<T, Arch> {
  using masks_of = attention_masks<T, Arch>;

protected:
  using masks_of::adjusted_;
  using masks_of::columns_;
  using masks_of::s_;
  using masks_of::view_;
  using masks_of::width;
  using typename masks_of::batch;
  using typename masks_of::C;
  using typename masks_of::lanes;

  attention_weights(attention_steps const& steps, attention_view const& view, C* scratch)
      : masks_of{steps, view, scratch} {}

  // Long functions are not inlined: copies of them would take long to compile and gain nothing.

  /// f(from, n): the strips of a block on the diagonal; otherwise the whole block.
  template<class F>
  static void for_each_strip(bool diagonal, extent rows, F const& f) {
    for (extent i = 0, n = diagonal ? tile_grain : rows; i < rows; i += n) f(i, std::min(n, rows - i));
  }

  // Products of packed matrices. On the diagonal, row j of the weights is used from column j on only.

  /// weights[j, i] = keys[j] . queries[i], from transposed `queries`.
  void scores(row_length const& row, extent count, bool diagonal, C const* keys, C const* queries,
              C* weights) const {
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      small_product<lanes>(attention_padded(n), columns_ - j, row.n,
                           left_matrix<C>{keys + j * row.padded, row.padded, 1},
                           row_matrix<C const>{queries + j, columns_},
                           row_matrix<C>{weights + j * columns_ + j, columns_}, false);
    });
  }

  /// sums[i] (+)= sum over j of weights[j, i] * values[j].
  void mix(row_length const& row, extent rows, extent count, bool diagonal, bool finite, C const* weights,
           C const* values, C* sums, bool add) const {
    if (count == 0) return;
    if (adjusted_ && !finite) return mix_seen(row, rows, count, weights, values, sums, add);
    for_each_strip(diagonal, rows, [&](extent i, extent n) {
      extent const reached = finite ? i + n : i;
      extent const whole   = diagonal ? std::min(count, reached) : count;
      left_matrix<C> const left{weights + i, 1, columns_};
      row_matrix<C const> const right{values, row.padded};
      row_matrix<C> const to{sums + i * row.padded, row.padded};
      if (n == 1) small_product_of_row<lanes>(row.padded, whole, left, right, to, add);
      else small_product<lanes>(attention_padded(n), row.padded, whole, left, right, to, add);
      for (extent j = whole; diagonal && j < std::min(count, i + n); ++j)
        for (extent seen = j; seen < std::min(rows, i + n); ++seen)
          add_row(row, weights[j * columns_ + seen], values + j * row.padded, sums + seen * row.padded);
    });
  }

  /// sums[j] (+)= sum over i of weights[j, i] * from[i].
  void collect(row_length const& row, extent rows, extent count, bool diagonal, bool finite, C const* weights,
               C const* from, C* sums, bool add) const {
    if (adjusted_ && !finite) return collect_seen(row, rows, count, weights, from, sums);
    for_each_strip(diagonal, count, [&](extent j, extent n) {
      extent const first = diagonal && !finite ? std::min(rows, j + n) : j;
      small_product<lanes>(attention_padded(n), row.padded, rows - first,
                           left_matrix<C>{weights + j * columns_ + first, columns_, 1},
                           row_matrix<C const>{from + first * row.padded, row.padded},
                           row_matrix<C>{sums + j * row.padded, row.padded}, add);
      for (extent i = j; i < first; ++i)
        for (extent seen = j; seen <= std::min(i, j + n - 1); ++seen)
          add_row(row, weights[seen * columns_ + i], from + i * row.padded, sums + seen * row.padded);
    });
  }

  // The same products without what has no weight: what is hidden may be no number.
  [[gnu::noinline]] void mix_seen(row_length const& row, extent rows, extent count, C const* weights,
                                  C const* values, C* sums, bool add) const {
    if (!add) std::fill_n(sums, rows * row.padded, C{});
    for (extent i = 0; i < rows; ++i)
      for (extent j = 0; j < count; ++j)
        if (C const w = weights[j * columns_ + i]; w != C{})
          add_row(row, w, values + j * row.padded, sums + i * row.padded);
  }
  [[gnu::noinline]] void collect_seen(row_length const& row, extent rows, extent count, C const* weights,
                                      C const* from, C* sums) const {
    for (extent j = 0; j < count; ++j)
      for (extent i = 0; i < rows; ++i)
        if (C const w = weights[j * columns_ + i]; w != C{})
          add_row(row, w, from + i * row.padded, sums + j * row.padded);
  }

  /// sum += weight * row.
  void add_row(row_length const& length, C weight, C const* row, C* sum) const {
    for (extent e = 0; e < length.padded; e += width)
      lanes::store(lanes::load(sum + e) + batch(weight) * lanes::load(row + e), sum + e);
  }

  /// Whether all elements are finite. Others must not be multiplied with the zeros of hidden weights: where
  /// there are such, they are left out, row by row.
  bool is_finite(row_length const& row, extent rows, C const* packed) const {
    batch sum(C{});
    if (view_.causal || adjusted_)
      for (extent i = 0; i < rows * row.padded; i += width) sum = sum + lanes::load(packed + i) * batch(C{});
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
    extent const whole = std::min(count, c + 1);
    extent const end   = std::min(count, c / tile_grain * tile_grain + tile_grain);
    batch const lane   = lanes::load(numbers.data());
    for (extent r = 0; r < whole; ++r) f(r, [](batch const& x, batch const&) { return x; });
    for (extent r = whole; r < end; ++r)
      f(r,
        [&](batch const& x, batch const& y) { return select(lane >= batch(static_cast<C>(r - c)), x, y); });
  }

  /// Turns scores S into weights, P = exp(S - m), and sums them: first `open` rows that all columns see,
  /// then `count` rows of the diagonal. Unless this piece of the memory `begins`, `row_max` and `row_sum`
  /// hold m and l of earlier pieces; `rescale` gets alpha = exp(m_old - m_new), by which the output of those
  /// pieces must now be multiplied.
  [[gnu::noinline]] void weigh(extent open, extent count, bool begins, C* weights, C* row_max, C* row_sum,
                               C* rescale) const {
    using math::exp, math::max, math::select;
    for (extent c = 0; c < columns_; c += width) {
      C* const top        = weights + c;
      C* const diagonal   = top + open * columns_;
      batch const old_max = begins ? batch(-std::numeric_limits<C>::infinity()) : lanes::load(row_max + c);
      std::array<batch, 4> high{old_max, old_max, old_max, old_max};
      extent r = 0;
      for (; r + 4 <= open; r += 4)
        unrolled<4>([&](auto n) __attribute__((always_inline)) {
          high[n] = max(high[n], lanes::load(top + (r + static_cast<extent>(n())) * columns_));
        });
      for (; r < open; ++r) high[0] = max(high[0], lanes::load(top + r * columns_));
      for_each_diagonal_row(c, count, [&](extent d, auto const& hides) {
        high[0] = max(high[0], hides(lanes::load(diagonal + d * columns_), high[0]));
      });
      batch const new_max = max(max(high[0], high[1]), max(high[2], high[3]));
      // if all scores so far are -infinity, all weights are 0, but a later piece may have larger scores
      batch const from = select(new_max == batch(-std::numeric_limits<C>::infinity()), batch(C{}), new_max);

      std::array<batch, 4> sum{batch(C{}), batch(C{}), batch(C{}), batch(C{})};
      auto const weight = [&](C* row, std::size_t n) __attribute__((always_inline)) {
        batch const w = exp(lanes::load(row) - from);
        sum[n]        = sum[n] + w;
        lanes::store(w, row);
      };
      for (r = 0; r + 4 <= open; r += 4)
        unrolled<4>([&](auto n) __attribute__((always_inline)) {
          weight(top + (r + static_cast<extent>(n())) * columns_, n);
        });
      for (; r < open; ++r) weight(top + r * columns_, 0);
      for_each_diagonal_row(c, count, [&](extent d, auto const& hides) {
        C* const row  = diagonal + d * columns_;
        batch const w = hides(exp(lanes::load(row) - from), batch(C{}));
        sum[0]        = sum[0] + w;
        lanes::store(w, row);
      });
      batch all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      if (!begins) {
        batch const alpha = exp(old_max - from);
        lanes::store(alpha, rescale + c);
        all = all + alpha * lanes::load(row_sum + c);
      }
      lanes::store(all, row_sum + c);
      lanes::store(new_max, row_max + c);
    }
  }

  /// Recomputes the weights, P = exp(S - L), and turns `dscores` from dP into dS = P * (dP - D).
  [[gnu::noinline]] void weigh_again(extent count, bool diagonal, bool of_scores, C const* log_sum_exp,
                                     C const* row_dot, C* weights, C* dscores) const {
    using math::exp, math::select;
    for (extent c = 0; c < columns_; c += width) {
      batch const lse   = lanes::load(log_sum_exp + c);
      batch const dot   = of_scores ? lanes::load(row_dot + c) : batch(C{});
      auto const weight = [&](extent r, auto const& hides) __attribute__((always_inline)) {
        C* const row  = weights + r * columns_ + c;
        C* const d    = dscores + r * columns_ + c;
        batch const w = hides(exp(lanes::load(row) - lse), batch(C{}));
        lanes::store(w, row);
        if (of_scores) lanes::store(hides(w * (lanes::load(d) - dot), batch(C{})), d);
      };
      if (diagonal) for_each_diagonal_row(c, count, weight);
      else
        for (extent r = 0; r < count; ++r) weight(r, [](batch const& x, batch const&) { return x; });
      // a hidden score changes nothing, even if a value that it hides is no number
      if (adjusted_ && of_scores)
        for (extent r = 0; r < count; ++r) {
          C* const d = dscores + r * columns_ + c;
          lanes::store(
              select(lanes::load(weights + r * columns_ + c) == batch(C{}), batch(C{}), lanes::load(d)), d);
        }
    }
  }

  /// The last of `count` rows of a diagonal block that some of the columns c, ..., c + width - 1 see, and
  /// those after that are hidden from all.
  static extent seen_on_diagonal(extent c, extent count) {
    return std::min(count, c / tile_grain * tile_grain + tile_grain);
  }

  /// Stores L = m + log(l); l becomes the factor 1 / l of the output. A query from which
  /// everything is hidden gets zeros, and gives none its gradient: its logarithm is infinite.
  void finish(extent rows, C const* row_max, C* row_sum, positions<C> const& to) const {
    using math::log, math::select;
    for (extent c = 0; c < columns_; c += width) {
      batch const all = lanes::load(row_sum + c);
      std::array<C, lanes::width> found;
      batch logs    = lanes::load(row_max + c) + log(all);
      batch factors = batch(C(1)) / all;
      if (adjusted_ || s_.memories == 0) {
        batch const nothing(C{});
        logs    = select(all == nothing, batch(std::numeric_limits<C>::infinity()), logs);
        factors = select(all == nothing, nothing, factors);
      }
      lanes::store(logs, found.data());
      lanes::store(factors, row_sum + c);
      for (extent i = c; i < std::min(rows, c + width); ++i)
        to.data[i * to.position] = found[static_cast<std::size_t>(i - c)];
    }
  }
};

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
