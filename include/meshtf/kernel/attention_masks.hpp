// What the queries of an attention see, and what is added to their scores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <meshtf/core/math.hpp>
#include <meshtf/kernel/attention_rows.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// Masks, windows, biases and segment ids. The causal mask alone is left to the caller, which has no pass of
/// its own for it (`on_diagonal_`).
template<class T, class Arch>
class attention_masks : protected attention_rows<T, Arch> {
  using rows_of = attention_rows<T, Arch>;

protected:
  using rows_of::columns_;
  using rows_of::copy_row;
  using rows_of::s_;
  using rows_of::take;
  using rows_of::width;
  using typename rows_of::batch;
  using typename rows_of::C;
  using typename rows_of::lanes;
  using offsets = std::array<extent, max_arrays>;

  attention_masks(attention_steps const& steps, attention_view const& view, C* scratch)
      : rows_of{steps, scratch},
        view_{view},
        adjusted_{!view.plain() || steps.distances > 0 || steps.biased || steps.segments},
        on_diagonal_{view.causal && !adjusted_} {}

  /// Positions of the memory.
  struct range {
    extent begin;
    extent end;
    extent size() const { return end - begin; }
  };

  /// What some of the queries first, ..., first + rows - 1 see, and perhaps a few positions more: at least
  /// one, and whole tiles where it is adjusted.
  range seen_from(extent first, extent rows) const {
    if (!adjusted_) return {0, on_diagonal_ ? std::min(first + rows, s_.memories) : s_.memories};
    extent const from       = view_.first + first;
    extent const to         = from + rows;
    extent const window_end = view_.reach > 0 ? to + view_.reach - 1 : s_.memories;
    extent const max_end    = view_.causal ? to : window_end;
    extent const end        = std::min(attention_padded(std::max<extent>(max_end, 1)), s_.memories);
    extent const begin = view_.reach > 0 ? std::max<extent>(std::min(from - view_.reach + 1, end - 1), 0) : 0;
    return {begin / tile_grain * tile_grain, end};
  }

  /// The same for a share whose terms have been fetched: also without what lies before and after all
  /// positions that have the segment of one of these queries. Packed sequences are much shorter than their
  /// row.
  range seen_by(extent first, extent rows) const {
    range seen = seen_from(first, rows);
    if (!s_.segments || rows == 0) return seen;
    std::array<C, attention_block> own;  // the segments of the queries; neighbours mostly share one
    std::size_t n = 0;
    for (extent i = first; i < first + rows; ++i)
      if (n == 0 || own[n - 1] != query_segments_[i]) own[n++] = query_segments_[i];
    auto const no_query_sees = [&](extent j) {
      return std::find(own.data(), own.data() + n, memory_segments_[j]) == own.data() + n;
    };
    extent const last = seen.end - 1;
    while (seen.begin < last && no_query_sees(seen.begin)) ++seen.begin;
    while (seen.end > seen.begin + 1 && no_query_sees(seen.end - 1)) --seen.end;
    seen.end = std::min(attention_padded(seen.end), last + 1);
    return {seen.begin / tile_grain * tile_grain, seen.end};
  }

  /// Memory for the biases and segment ids of one share.
  void take_terms() {
    biases_ = take(attention_row_of_biases(s_));
    if (!s_.segments) return;
    query_segments_  = take(attention_padded(s_.queries) + attention_block);
    memory_segments_ = take(s_.memories);
  }
  void fetch_terms(T const* biases, std::int32_t const* of_queries, std::int32_t const* of_memory,
                   offsets const& offset) {
    using enum attention_steps::operand;
    if (s_.distances > 0) {
      copy_row(s_.distances, biases + offset[bias], s_.element[bias], C(1), biases_, 1);
      std::fill_n(biases_ + s_.distances, 2 * attention_block, C{});
    }
    if (s_.biased) all_biases_ = biases + offset[bias];
    if (!s_.segments) return;
    for (extent i = 0; i < s_.queries; ++i)
      query_segments_[i] = static_cast<C>(of_queries[offset[query_segment] + i * s_.position[query_segment]]);
    std::fill_n(query_segments_ + s_.queries, attention_padded(s_.queries) + attention_block - s_.queries,
                C{});
    for (extent j = 0; j < s_.memories; ++j)
      memory_segments_[j] =
          static_cast<C>(of_memory[offset[memory_segment] + j * s_.position[memory_segment]]);
  }

  /// The number of the distance between the first query of a block and a position of the memory.
  extent distance_to(extent first, extent j) const { return s_.at_zero + view_.first + first - j; }

  /// Adds the bias to scores of queries first, ... and positions j, ..., j + count - 1, and makes those that
  /// are hidden -infinity.
  [[gnu::noinline]] void adjust(extent begin, extent count, extent first, extent rows, C* weights) const {
    using math::select;
    if (s_.biased) add_biases(begin, count, first, rows, weights);
    static constexpr C infinity = std::numeric_limits<C>::infinity();
    extent const from           = view_.first + first;
    C const earliest            = view_.reach > 0 ? static_cast<C>(1 - view_.reach) : -infinity;
    C const low                 = view_.causal ? C{} : earliest;
    C const high                = view_.reach > 0 ? static_cast<C>(view_.reach - 1) : infinity;
    bool const open =
        static_cast<C>(from - (begin + count - 1)) >= low && static_cast<C>(from + rows - 1 - begin) <= high;
    if (open && s_.distances == 0 && !s_.segments) return;
    batch const nothing(-infinity);
    batch const lane = lanes::load(lane_numbers<lanes, C>.data());
    for (extent r = 0; r < count; ++r)
      for (extent c = 0; c < columns_; c += width) {
        C* const row = weights + r * columns_ + c;
        batch x      = lanes::load(row);
        if (s_.distances > 0) x = x + lanes::load(biases_ + distance_to(first + c, begin + r));
        if (s_.segments)
          x = select(lanes::load(query_segments_ + first + c) == batch(memory_segments_[begin + r]), x,
                     nothing);
        if (!open) {
          batch const distance = lane + batch(static_cast<C>(from + c - begin - r));
          x                    = select(distance >= batch(low), x, nothing);
          x                    = select(distance <= batch(high), x, nothing);
        }
        lanes::store(x, row);
      }
  }

  // A bias with an element for each score has queries as rows, the scores have them as columns.

  [[gnu::noinline]] void add_biases(extent begin, extent count, extent first, extent rows, C* weights) const {
    using enum attention_steps::operand;
    for (extent i = 0; i < rows; ++i) {
      T const* const from = all_biases_ + (first + i) * s_.position[bias] + begin * s_.element[bias];
      for (extent r = 0; r < count; ++r)
        weights[r * columns_ + i] += static_cast<C>(from[r * s_.element[bias]]);
    }
  }
  [[gnu::noinline]] void store_biases(extent begin, extent count, extent first, extent rows, C const* dscores,
                                      T* dbiases) const {
    using enum attention_steps::operand;
    for (extent i = 0; i < rows; ++i) {
      T* const to = dbiases + (first + i) * s_.position[bias] + begin * s_.element[bias];
      for (extent r = 0; r < count; ++r) to[r * s_.element[bias]] = static_cast<T>(dscores[r * columns_ + i]);
    }
  }
  /// What no query sees has no gradient.
  void clear_biases(T* dbiases) const {
    using enum attention_steps::operand;
    for (extent i = 0; i < s_.queries; ++i)
      for (extent j = 0; j < s_.memories; ++j) dbiases[i * s_.position[bias] + j * s_.element[bias]] = T{};
  }

  /// Adds the gradients of scores to those of the biases. Several scores have one distance, but not in one
  /// row.
  [[gnu::noinline]] void collect_biases(extent begin, extent count, extent first, extent rows,
                                        C const* dscores, C* dbiases) const {
    for (extent r = 0; r < count; ++r) {
      C const* const from = dscores + r * columns_;
      C* const to         = dbiases + distance_to(first, begin + r);
      extent c            = 0;
      for (; c + width <= rows; c += width) lanes::store(lanes::load(to + c) + lanes::load(from + c), to + c);
      for (; c < rows; ++c) to[c] += from[c];
    }
  }

  attention_view view_;
  bool adjusted_;     // a pass over the scores hides some of them, or adds biases
  bool on_diagonal_;  // the causal mask alone

private:
  C* biases_           = nullptr;
  C* query_segments_   = nullptr;
  C* memory_segments_  = nullptr;
  T const* all_biases_ = nullptr;  // of a share
};

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
