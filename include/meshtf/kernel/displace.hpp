// Elements that move along a dimension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <meshtf/core/compiled.hpp>
#include <meshtf/kernel/copy_row.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/shift_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

#if __has_builtin(__builtin_shufflevector) && !defined(__ARM_FEATURE_SVE)

template<std::size_t N, class T>
[[gnu::always_inline]] inline void copy_batch_backwards(T const* last, T* to) {
  using native [[gnu::vector_size(N * sizeof(T))]] = T;
  native x;
  std::memcpy(&x, last - (N - 1), sizeof x);
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    x = __builtin_shufflevector(x, x, (N - 1 - I)...);
  }(std::make_index_sequence<N>{});
  std::memcpy(to, &x, sizeof x);
}

/// By batches of N elements, of which the last may overlap the one before it; by smaller ones if there are
/// fewer elements.
template<std::size_t N, class T>
[[gnu::always_inline]] inline void copy_batches_backwards(extent n, T const* last, T* to) {
  constexpr extent width = N;
  if (n >= width) {
    extent k = 0;
    for (; k + width <= n; k += width) copy_batch_backwards<N>(last - k, to + k);
    if (k < n) copy_batch_backwards<N>(last - (n - width), to + (n - width));
  } else if constexpr (N > 2) {
    copy_batches_backwards<N / 2>(n, last, to);
  } else if (n == 1) {
    *to = *last;
  }
}

#else

template<std::size_t, class T>
void copy_batches_backwards(extent n, T const* __restrict last, T* __restrict to) {
  for (extent k = 0; k < n; ++k) to[k] = last[-k];
}

#endif

}  // namespace detail

/// to[k] = last[-k].
template<Element T, class Arch = default_arch>
[[gnu::always_inline]] inline void copy_backwards(extent n, T const* __restrict last, T* __restrict to) {
  constexpr auto width = static_cast<std::size_t>(lanes<T, Arch>::width);
  if constexpr (width > 1) detail::copy_batches_backwards<width>(n, last, to);
  else
    for (extent k = 0; k < n; ++k) to[k] = last[-k];
}

/// The runs of a line of z, of which all lines have the same. None if they are many.
struct runs_of_line {
  static constexpr int max_runs = 4;

  small_array<displacement::run, max_runs> run{};
  int count = 0;

  runs_of_line(displace_steps const& s, displacement const& way) {
    for (extent i = 0; i < s.to; i += run[count++].count) {
      if (count == max_runs) {
        count = 0;
        return;
      }
      run[count] = way.run_at(i, s.from, s.to);
    }
  }

  /// Whether elements of all lines lie together in z as they do in x: their short lines are one copy, and
  /// what x lacks is written over it.
  bool are_one_copy(displace_steps const& s, displacement const& way) const {
    constexpr extent short_line = 256;
    extent there                = 0;
    extent elements             = 0;
    for (int r = 0; r < count; ++r)
      if (run[r].there) {
        ++there;
        elements = run[r].count;
      }
    return there == 1 && !way.reversed && s.from_allocated == s.to_allocated && s.to == s.to_allocated &&
           s.to * s.inner <= short_line && 2 * elements >= s.to;
  }
};

/// Writes `count` elements of the dimension, from `to` on.
template<Element T>
[[gnu::always_inline]] inline void write_run(displace_steps const& s, bool reversed,
                                             displacement::run const& run, extent count, T beyond, T const* x,
                                             T* to) {
  if (!run.there) {
    std::fill_n(to, count * s.inner, beyond);
  } else if (!reversed) {
    copy_row(count * s.inner, x + run.first * s.inner, to);
  } else if (s.inner == 1) {
    copy_backwards(count, x + run.first, to);
  } else {
    for (extent k = 0; k < count; ++k) copy_row(s.inner, x + (run.first - k) * s.inner, to + k * s.inner);
  }
}

/// Writes whole lines that are one copy.
template<Element T>
void write_lines_as_one(displace_steps const& s, runs_of_line const& runs, extent lines, T beyond, T const* x,
                        T* z) {
  if (lines == 0) return;
  extent const line = s.to * s.inner;
  for (extent position = 0, r = 0; r < runs.count; position += runs.run[r++].count * s.inner)
    if (auto const& run = runs.run[r]; run.there)
      copy_row((lines - 1) * line + run.count * s.inner, x + run.first * s.inner, z + position);
  for (extent position = 0, r = 0; r < runs.count; position += runs.run[r++].count * s.inner)
    if (extent const n = runs.run[r].count * s.inner; !runs.run[r].there)
      for (extent l = 0; l < lines; ++l)
        for (extent k = 0; k < n; ++k) z[l * line + position + k] = beyond;
}

/// Writes elements `begin` to `end - 1` of z, where one is an index of the dimension in one line. Each run of
/// them is one copy.
template<Element T>
void displace_range(displace_steps const& s, displacement const& way, T beyond, T const* x, T* z,
                    extent begin, extent end) {
  runs_of_line const runs{s, way};  // found once: that takes longer than to copy a short line
  extent const from_line = s.from_allocated * s.inner;
  extent const to_line   = s.to_allocated * s.inner;
  extent i               = begin % s.to;
  x += begin / s.to * from_line;
  z += begin / s.to * to_line;
  bool const one_copy = runs.are_one_copy(s, way);
  bool const turned   = way.reversed && runs.count == 1 && runs.run[0].there && s.inner == 1;
  auto const pass     = [&](extent lines) {
    begin += lines * s.to;
    x += lines * from_line;
    z += lines * to_line;
  };
  while (begin < end) {
    if (extent const lines = i == 0 ? (end - begin) / s.to : 0; lines == 0 || runs.count == 0) {
      // some elements of a line, or runs that are too many to be kept
    } else if (one_copy) {
      extent const cached = std::min(lines, std::max<extent>(1, 8192 / to_line));
      write_lines_as_one(s, runs, cached, beyond, x, z);
      pass(cached);
      continue;
    } else if (turned) {
      for (extent l = 0; l < lines; ++l)
        copy_backwards(s.to, x + l * from_line + runs.run[0].first, z + l * to_line);
      pass(lines);
      continue;
    } else {
      T* to = z;
      for (int r = 0; r < runs.count; to += runs.run[r++].count * s.inner)
        write_run(s, way.reversed, runs.run[r], runs.run[r].count, beyond, x, to);
      pass(1);
      continue;
    }
    auto const run     = way.run_at(i, s.from, s.to);
    extent const count = std::min(run.count, end - begin);
    write_run(s, way.reversed, run, count, beyond, x, z + i * s.inner);
    begin += count;
    if (i += count; i == s.to) {
      i = 0;
      x += from_line;
      z += to_line;
    }
  }
}

template<Element T>
void displace(displace_steps const& s, displacement const& way, T beyond, T const* x, T* z) {
  extent const all = s.outer * s.to;
  if (all == 0 || s.inner == 0) return;
  extent const grain = std::max<extent>(1, 4096 / s.inner);
  parallel_for(all, grain, all * s.inner,
               [&](extent begin, extent end) { displace_range(s, way, beyond, x, z, begin, end); });
}

}  // namespace kernel

namespace task {

template<Element T>
void displace<T>::compute(displace_steps const& s, place_in_mesh const&, T const* x, T* z) const {
  kernel::displace(s, way, beyond, x, z);
}

template<Element T>
void copy_rows<T>::compute(displace_steps const& s, place_in_mesh const&, T const* x, T* z) const {
  displace_steps rows = s;
  rows.to             = count;
  if (from_edge) rows.from = rows.from_allocated = count;
  if (to_edge) rows.to_allocated = count;
  kernel::displace(rows, {.offset = from}, beyond, x, z + to * s.inner);
}

#define MESHTF_DISPLACE(T)     \
  template struct displace<T>; \
  template struct copy_rows<T>;
MESHTF_COMPILE_EACH(MESHTF_DISPLACE)
#undef MESHTF_DISPLACE

}  // namespace task
}  // namespace v0
}  // namespace meshtf
