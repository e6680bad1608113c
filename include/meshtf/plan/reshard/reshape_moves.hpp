// How a split dimension is viewed as several that hold the same elements in the same order.
#pragma once

#include <span>

#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// Views `whole` as the dimensions `parts` (sizes given), outermost first: its axes go to the outermost part
/// while they divide it, and once that part is split to single elements, the rest go to the next. Returns how
/// many of its axes fit. If not all do, a split over those alone would fit.
///
/// Merging is the reverse: the axes of an inner part stay only if the outer parts are split to single
/// elements.
///
/// If the dimension is cut unevenly, all axes go to the outermost part, provided that both are cut between
/// the same elements: 10 = 5 x 2 over 3 is cut after 4 elements, between two pairs, but over 4 after 3,
/// within a pair.
/// Source: the factor walk of Shardy and GSPMD, for named dimensions; an axis is not cut in two.
constexpr int distribute(placed const& whole, std::span<placed> parts, std::span<extent const> axis_sizes) {
  std::size_t position = 0;
  for (placed& p : parts) {
    p.parts = 1;
    p.over  = {};
  }
  if (!whole.divides()) {
    placed const outermost{.size = parts[0].size, .parts = whole.parts, .over = whole.over, .pads = true};
    extent inner = 1;
    for (placed const& p : parts.subspan(1)) inner *= p.size;
    if (outermost.allocated_extent() * inner != whole.allocated_extent()) return 0;
    parts[0] = outermost;
    return whole.over.count;
  }
  for (int i = 0; i < whole.over.count; ++i) {
    int const axis = whole.over[i];
    extent const n = axis_sizes[static_cast<std::size_t>(axis)];
    while (position < parts.size() && parts[position].parts == parts[position].size) ++position;
    if (position == parts.size()) {  // only axes of size 1 can be left
      if (n != 1) return i;
      continue;
    }
    if (parts[position].size % (parts[position].parts * n) != 0) return i;
    parts[position].parts *= n;
    parts[position].over.push_back(axis);
  }
  return whole.over.count;
}

}  // namespace v0
}  // namespace meshtf
