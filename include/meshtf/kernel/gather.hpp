// Gather: rows of a table by index, and adding rows to a table by index.
//
// A block of the table has the shape [outer][along][inner], one of the rows [ids][outer][inner]. Where each
// id has rows of its own, the table moves on with the ids. An index counts from `first`: a process that holds
// elements first ... first + along - 1 of a split dimension works on those; other rows are zeros, and nothing
// is added for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <meshtf/core/error.hpp>
#include <meshtf/kernel/copy_row.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/gather_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// The position of the first of `n` indices that is not in 0 ... whole - 1; n if there is none.
inline extent first_outside(extent n, std::int32_t const* index, extent global) {
  std::uint32_t largest = 0;  // as unsigned, negative indices are large
  for (extent i = 0; i < n; ++i) largest = std::max(largest, static_cast<std::uint32_t>(index[i]));
  if (n == 0 || extent{largest} < std::min(global, extent{1} << 31)) return n;
  return std::find_if(index, index + n, [=](std::int32_t i) { return i < 0 || i >= global; }) - index;
}

/// What an index is called, what it names, and what to check if it names nothing.
struct words_for_index {
  char const* one;
  char const* names;
  char const* all;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_outside(extent position, std::int32_t found,
                                                                 extent global,
                                                                 words_for_index const& words) {
  throw data_error(std::string{words.one} + " number " + std::to_string(position) + " of this process is " +
                   std::to_string(found) + ", expected " + words.names + " from 0 to " +
                   std::to_string(global - 1) + ": check the " + words.all);
}

/// Indices of a block: `count` runs of `length`, which begin `stride` apart.
struct index_runs {
  extent count;
  extent length;
  extent stride;
};

/// Errors: `data_error` if one of the indices from number `begin` on is not in 0 ... whole - 1.
inline void expect_inside(index_runs const& runs, extent begin, std::int32_t const* index, extent global,
                          words_for_index const& words) {
  bool const one      = runs.stride == runs.length;
  extent const length = one ? runs.count * runs.length : runs.length;
  for (extent r = 0; r < (one ? 1 : runs.count); ++r, begin += runs.stride)
    if (extent const i = first_outside(length, index + begin, global); i < length)
      throw_outside(begin + i, index[begin + i], global, words);
}

namespace detail {

/// f(position in the table, position in the rows, whether the table's part has the row) for each row of a
/// block, in the order of the ids. A copy of the steps, and a loop without an outer one where that has one
/// turn: both cost as much as the copy of a short row.
template<class F>
[[gnu::always_inline]] inline void for_each_row(gather_steps const s, extent first, std::int32_t const* index,
                                                F const& f) {
  line_steps const lines = s.lines;
  extent table           = 0;
  extent rows            = 0;
  if (lines.outer == 1) {
    for (extent i = 0; i < s.block_ids; ++i, table += s.table_stride, rows += s.id_stride) {
      extent const position = index[i] - first;
      f(table + position * lines.step, rows,
        static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(lines.along));
    }
    return;
  }
  for (extent i = 0; i < s.block_ids; ++i, table += s.table_stride, rows += s.id_stride) {
    extent const position = index[i] - first;
    bool const here       = position >= 0 && position < lines.along;
    for (extent o = 0; o < lines.outer; ++o)
      f(table + o * lines.outer_stride + position * lines.step, rows + o * lines.line_stride, here);
  }
}

}  // namespace detail

/// rows[i][o] = table[o][index[i] - first] for the ids of a block, or zeros where that is out of range.
template<Element T, class Arch = default_arch>
void gather_rows(gather_steps const& s, extent first, T const* table, std::int32_t const* index, T* rows) {
  line_steps const& lines = s.lines;
  extent const ids        = s.block_ids;
  extent const along      = lines.along;
  extent const outer      = lines.outer;
  extent const inner      = lines.inner;
  if (outer == 1 && inner == 1 && lines.step == 1 && s.id_stride == 1 && s.table_stride == 0) {
    for (extent i = 0; i < ids; ++i) {
      extent const position = index[i] - first;
      rows[i]               = position >= 0 && position < along ? table[position] : T{};
    }
    return;
  }
  if (outer == 1 && inner == 1) {
    for (extent i = 0; i < ids; ++i) {
      extent const position = index[i] - first;
      rows[i * s.id_stride] =
          position >= 0 && position < along ? table[i * s.table_stride + position * lines.step] : T{};
    }
    return;
  }
  detail::for_each_row(s, first, index,
                       [=](extent in_table, extent in_rows, bool here) __attribute__((always_inline)) {
                         if (here) {
                           copy_row<T, Arch>(inner, table + in_table, rows + in_rows);
                         } else {
                           std::fill_n(rows + in_rows, inner, T{});
                         }
                       });
}

/// table[o][index[i] - first] += rows[i][o] where that is in range, in the order of the rows, so the sums
/// always have the same bits.
template<Element T, class Arch = default_arch>
void scatter_rows(gather_steps const& s, extent first, T const* rows, std::int32_t const* index, T* table) {
  using lanes             = kernel::lanes<T, Arch>;
  line_steps const& lines = s.lines;
  extent const ids        = s.block_ids;
  extent const along      = lines.along;
  extent const outer      = lines.outer;
  extent const inner      = lines.inner;
  if (outer == 1 && inner == 1) {
    for (extent i = 0; i < ids; ++i)
      if (extent const position = index[i] - first; position >= 0 && position < along)
        table[i * s.table_stride + position * lines.step] += rows[i * s.id_stride];
    return;
  }
  detail::for_each_row(
      s, first, index, [=](extent in_table, extent in_rows, bool here) __attribute__((always_inline)) {
        if (!here) return;
        T* const sum        = table + in_table;
        T const* const from = rows + in_rows;
        detail::for_each_batch<lanes>(inner, [&](auto some, extent k) __attribute__((always_inline)) {
          some.store(some.load(sum + k) + some.load(from + k), sum + k);
        });
      });
}

/// `gather_rows` on all threads, which share the ids. A row is the same in any part, so one thread takes them
/// all at once.
template<Element T>
void gather_all_rows(gather_steps const& s, extent first, T const* table, std::int32_t const* index,
                     T* rows) {
  if (thread_count() == 1) return gather_rows(s, first, table, index, rows);
  parallel_for(s.block_ids, 1, s.block_ids * s.lines.outer * s.lines.inner, [&](extent begin, extent end) {
    auto part      = s;
    part.block_ids = end - begin;
    gather_rows(part, first, table + begin * s.table_stride, index + begin, rows + begin * s.id_stride);
  });
}

/// f(part, rows, table) on all threads, which share the elements of a row, so each of them keeps the order of
/// the ids. An element is the same in any part, so one thread takes them all at once: pieces of 1000 elements
/// took it 1.4 times as long.
template<class R, class T, class F>
void share_elements_of_rows(gather_steps const& s, R* rows, T* table, F const& f) {
  if (thread_count() == 1) return f(s, rows, table);
  bool const columns = s.lines.inner >= s.lines.outer;
  extent const n     = columns ? s.lines.inner : s.lines.outer;
  parallel_for(n, columns ? 64 : 1, s.block_ids * s.lines.outer * s.lines.inner,
               [&](extent begin, extent end) {
                 auto part                                       = s;
                 (columns ? part.lines.inner : part.lines.outer) = end - begin;
                 extent const in_rows                            = columns ? 1 : s.lines.line_stride;
                 extent const in_table                           = columns ? 1 : s.lines.outer_stride;
                 f(part, rows + begin * in_rows, table + begin * in_table);
               });
}

/// `scatter_rows` on all threads.
template<Element T>
void scatter_all_rows(gather_steps const& s, extent first, T const* rows, std::int32_t const* index,
                      T* table) {
  share_elements_of_rows(s, rows, table, [&](gather_steps const& part, T const* from, T* to) {
    scatter_rows(part, first, from, index, to);
  });
}

}  // namespace kernel

namespace task {

template<Element T>
void gather_rows<T>::compute(gather_steps const& s, place_in_mesh const& here, T const* table,
                             std::int32_t const* index, T* rows) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::expect_inside({1, s.block_ids, s.block_ids}, start[0], index, s.lines.global,
                          {"id", "a row", "ids"});
    kernel::gather_all_rows(s, s.lines.first(here), table + start[1], index + start[0], rows + start[2]);
  });
}
template<Element T>
void scatter_rows<T>::compute(gather_steps const& s, place_in_mesh const& here, T* table,
                              std::int32_t const* index, T const* rows) const {
  s.blocks.for_each([&](auto const& start) {
    if (checks)
      kernel::expect_inside({1, s.block_ids, s.block_ids}, start[0], index, s.lines.global,
                            {"id", "a row", "ids"});
    kernel::scatter_all_rows(s, s.lines.first(here), rows + start[2], index + start[0], table + start[1]);
  });
}

#define MESHTF_GATHERS(T) template struct gather_rows<T>;
MESHTF_COMPILE_EACH(MESHTF_GATHERS)
#undef MESHTF_GATHERS

#define MESHTF_SCATTERS(T) template struct scatter_rows<T>;
MESHTF_COMPILE_WIDE(MESHTF_SCATTERS)
MESHTF_COMPILE_INTEGERS(MESHTF_SCATTERS)
#undef MESHTF_SCATTERS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
