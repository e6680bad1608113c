// Elements that move along a dimension.
#pragma once

#include <algorithm>

#include <meshtf/core/compiled.hpp>
#include <meshtf/kernel/copy_row.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/shift_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// to[k] = last[-k].
template<Element T>
void copy_backwards(extent n, T const* __restrict last, T* __restrict to) {
  for (extent k = 0; k < n; ++k) to[k] = last[-k];
}

/// Writes elements `begin` to `end - 1` of z, where one is an index of the dimension in one line. Each run of them is one copy.
template<Element T>
void displace_range(displace_steps const& s, displacement const& way, T beyond, T const* x, T* z, extent begin, extent end) {
  extent i = begin % s.to;
  x += begin / s.to * s.from_room * s.inner;
  z += begin / s.to * s.to_room * s.inner;
  // lines that are turned around as they are: to find a run takes longer than to copy a short line
  if (auto const line = way.run_at(0, s.from, s.to); way.reversed && s.inner == 1 && line.there && line.count == s.to && i == 0)
    for (; end - begin >= s.to; begin += s.to, x += s.from_room, z += s.to_room) copy_backwards(s.to, x + line.first, z);
  while (begin < end) {
    auto const run     = way.run_at(i, s.from, s.to);
    extent const count = std::min(run.count, end - begin), n = count * s.inner;
    T* const to = z + i * s.inner;
    if (!run.there) {
      std::fill_n(to, n, beyond);
    } else if (!way.reversed) {
      copy_row(n, x + run.first * s.inner, to);
    } else if (s.inner == 1) {
      copy_backwards(count, x + run.first, to);
    } else {
      for (extent k = 0; k < count; ++k) copy_row(s.inner, x + (run.first - k) * s.inner, to + k * s.inner);
    }
    begin += count;
    if (i += count; i == s.to) i = 0, x += s.from_room * s.inner, z += s.to_room * s.inner;
  }
}

template<Element T>
void displace(displace_steps const& s, displacement const& way, T beyond, T const* x, T* z) {
  extent const all = s.outer * s.to;
  if (all == 0 || s.inner == 0) return;
  extent const grain = std::max<extent>(1, 4096 / s.inner);
  parallel_for(all, grain, all * s.inner, [&](extent begin, extent end) { displace_range(s, way, beyond, x, z, begin, end); });
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(displace<T> const& task, displace_steps const& s, place_in_mesh const&, T const* x, T* z) {
  kernel::displace(s, task.way, task.beyond, x, z);
}

template<Element T>
void compute(copy_rows<T> const& task, displace_steps const& s, place_in_mesh const&, T const* x, T* z) {
  displace_steps rows = s;
  rows.to             = task.count;
  if (task.from_edge) rows.from = rows.from_room = task.count;
  if (task.to_edge) rows.to_room = task.count;
  kernel::displace(rows, {.offset = task.from}, task.beyond, x, z + task.to * s.inner);
}

#define MESHTF_DISPLACE(T)                                                                              \
  template void compute(displace<T> const&, displace_steps const&, place_in_mesh const&, T const*, T*); \
  template void compute(copy_rows<T> const&, displace_steps const&, place_in_mesh const&, T const*, T*);
MESHTF_COMPILE_EACH(MESHTF_DISPLACE)
#undef MESHTF_DISPLACE

}  // namespace task
}  // namespace v0
}  // namespace meshtf
