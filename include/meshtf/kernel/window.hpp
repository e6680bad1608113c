// Windows: rows that are added at the edges of parts, and copies between an array and its windows.
#pragma once

#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/window_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace task {

template<Element T>
void add_rows<T>::compute(displace_steps const& s, place_in_mesh const&, T const* rows, T* z) const {
  extent const n = count * s.inner;
  for (extent line = 0; line < s.outer; ++line, rows += n) {
    T* const sums = z + (line * s.to_allocated + to) * s.inner;
    for (extent i = 0; i < n; ++i)
      sums[i] = static_cast<T>(static_cast<computed<T>>(sums[i]) + static_cast<computed<T>>(rows[i]));
  }
}

template<Element T>
void windows_taken<T>::compute(window_steps const& s, place_in_mesh const& here, T const* x,
                               T* windows) const {
  if (s.copy.iterations != 0) kernel::map_nest(s.copy, function::identity{}, windows, x + s.first(here));
}

/// The windows of one place in all of them do not overlap, so each place is one pass over all windows.
template<Element T>
void windows_added<T>::compute(window_steps const& s, place_in_mesh const& here, T const* windows,
                               T* x) const {
  if (s.tap.iterations == 0) return;
  for_each_index<2>(s.taps.first(s.dims), s.tap_stride, {s.first(here), 0},
                    [&](std::array<extent, 2> const& offset) {
                      kernel::map_nest(s.tap, function::plus{}, x + offset[0],
                                       static_cast<T const*>(x) + offset[0], windows + offset[1]);
                    });
}

#define MESHTF_WINDOWS_TAKEN(T) template struct windows_taken<T>;
#define MESHTF_WINDOWS_ADDED(T) \
  template struct add_rows<T>;  \
  template struct windows_added<T>;
MESHTF_COMPILE_EACH(MESHTF_WINDOWS_TAKEN)
MESHTF_COMPILE_FLOATING(MESHTF_WINDOWS_ADDED)
#undef MESHTF_WINDOWS_TAKEN
#undef MESHTF_WINDOWS_ADDED

}  // namespace task
}  // namespace v0
}  // namespace meshtf
