// Gather: rows of a table by index, and the addition of rows to a table by index.
//
// The table is seen as [outer][along][inner], the rows as [ids][outer][inner]. An index counts from `first`: a process that holds elements first ... first +
// along - 1 of a split dimension works on those; the others' rows are zeros, and nothing is added for them.
#pragma once

#include <algorithm>
#include <cstdint>

#include <meshtf/kernel/simd.hpp>

namespace meshtf::inline v0 {
namespace kernel {

/// rows[i][o] = table[o][index[i] - first], or zeros where that is out of range.
template<Element T>
void gather_rows(extent ids, extent outer, extent along, extent inner, extent first, T const* table, std::int32_t const* index, T* rows) {
  for (extent i = 0; i < ids; ++i) {
    extent const at = index[i] - first;
    if (at < 0 || at >= along) {
      std::fill_n(rows, outer * inner, T{});
      rows += outer * inner;
    } else {
      for (extent o = 0; o < outer; ++o, rows += inner) std::copy_n(table + (o * along + at) * inner, inner, rows);
    }
  }
}

/// table[o][index[i] - first] += rows[i][o] where that is in range, in the order of the rows: the sums have the same bits every time.
template<Element T, class Arch = default_arch>
void scatter_rows(extent ids, extent outer, extent along, extent inner, extent first, T const* rows, std::int32_t const* index, T* table) {
  using lanes = kernel::lanes<T, Arch>;
  for (extent i = 0; i < ids; ++i, rows += outer * inner) {
    extent const at = index[i] - first;
    if (at < 0 || at >= along) continue;
    for (extent o = 0; o < outer; ++o) {
      T* const sum        = table + (o * along + at) * inner;
      T const* const from = rows + o * inner;
      extent const whole  = inner - inner % lanes::width;
      for (extent k = 0; k < whole; k += lanes::width) lanes::store(lanes::load(sum + k) + lanes::load(from + k), sum + k);
      for (extent k = whole; k < inner; ++k) sum[k] += from[k];
    }
  }
}

}  // namespace kernel
}  // namespace meshtf::inline v0
