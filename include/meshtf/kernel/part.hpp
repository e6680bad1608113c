// Parts: copies between a part of an array and its place in the whole.
#pragma once

#include <utility>

#include <meshtf/kernel/nest.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace task {

template<Element T>
void compute(take_part<T> const& task, part_steps const& s, place_in_mesh const&, T const* whole, T* part) {
  if (s.copy.iterations != 0)
    kernel::map_nest(s.copy, function::identity{}, part, whole + task.first * s.stride);
}
template<Element T>
void compute(put_part<T> const& task, part_steps const& s, place_in_mesh const&, T* whole, T const* part) {
  nest_steps back = s.copy;
  std::swap(back.stride[0], back.stride[1]);
  if (back.iterations != 0) kernel::map_nest(back, function::identity{}, whole + task.first * s.stride, part);
}

#define MESHTF_PARTS(T)                                                                              \
  template void compute(take_part<T> const&, part_steps const&, place_in_mesh const&, T const*, T*); \
  template void compute(put_part<T> const&, part_steps const&, place_in_mesh const&, T*, T const*);
MESHTF_COMPILE_EACH(MESHTF_PARTS)
#undef MESHTF_PARTS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
