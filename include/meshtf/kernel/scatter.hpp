// Scatter: rows are written to where ids say, and, for the gradient, moved out from there.
#pragma once

#include <meshtf/kernel/gather.hpp>
#include <meshtf/plan/scatter_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// table[o][index[i] - first] = rows[i][o] where that is in range, in the order of the ids.
template<Element T>
void set_rows(gather_steps const& s, extent first, T const* rows, std::int32_t const* index, T* table) {
  line_steps const& lines = s.lines;
  if (lines.outer == 1 && lines.inner == 1) {
    for (extent i = 0; i < s.block_ids; ++i, rows += s.id_stride, table += s.table_stride)
      if (extent const position = index[i] - first; position >= 0 && position < lines.along)
        table[position * lines.step] = *rows;
    return;
  }
  extent const inner = lines.inner;
  detail::for_each_row(s, first, index,
                       [=](extent in_table, extent in_rows, bool here) __attribute__((always_inline)) {
                         if (here) copy_row(inner, rows + in_rows, table + in_table);
                       });
}

/// rows[i][o] = table[o][index[i] - first], which becomes zero, or zeros where that is out of range; the last
/// id first.
template<Element T>
void take_rows(gather_steps const& s, extent first, T* rows, std::int32_t const* index, T* table) {
  line_steps const& lines = s.lines;
  for (extent i = s.block_ids; i-- > 0;) {
    extent const position = index[i] - first;
    bool const there      = position >= 0 && position < lines.along;
    for (extent o = 0; o < lines.outer; ++o) {
      T* const to = rows + i * s.id_stride + o * lines.line_stride;
      if (there) {
        T* const from = table + i * s.table_stride + o * lines.outer_stride + position * lines.step;
        copy_row<T>(lines.inner, from, to);
        std::fill_n(from, lines.inner, T{});
      } else {
        std::fill_n(to, lines.inner, T{});
      }
    }
  }
}

}  // namespace kernel

namespace task {

template<Element T>
void set_rows<T>::compute(gather_steps const& s, place_in_mesh const& here, T* table,
                          std::int32_t const* index, T const* rows) const {
  s.blocks.for_each([&](auto const& start) {
    kernel::expect_inside({1, s.block_ids, s.block_ids}, start[0], index, s.lines.global,
                          {"id", "a row", "ids"});
    kernel::share_elements_of_rows(s, rows + start[2], table + start[1],
                                   [&](gather_steps const& part, T const* from, T* to) {
                                     kernel::set_rows(part, s.lines.first(here), from, index + start[0], to);
                                   });
  });
}
template<Element T>
void take_rows<T>::compute(gather_steps const& s, place_in_mesh const& here, T* table,
                           std::int32_t const* index, T* rows) const {
  s.blocks.for_each_backwards([&](auto const& start) {
    kernel::share_elements_of_rows(s, rows + start[2], table + start[1],
                                   [&](gather_steps const& part, T* to, T* from) {
                                     kernel::take_rows(part, s.lines.first(here), to, index + start[0], from);
                                   });
  });
}

#define MESHTF_SET_AND_TAKE(T) \
  template struct set_rows<T>; \
  template struct take_rows<T>;
MESHTF_COMPILE_EACH(MESHTF_SET_AND_TAKE)
#undef MESHTF_SET_AND_TAKE

}  // namespace task
}  // namespace v0
}  // namespace meshtf
