// Parts: copies between a part of an array and its place in the whole.
#pragma once

#include <utility>

#include <meshtf/kernel/nest.hpp>
#include <meshtf/plan/slice_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace task {

template<Element T>
void take_part<T>::compute(part_steps const& s, place_in_mesh const&, T const* whole, T* part) const {
  if (s.copy.iterations != 0) kernel::map_nest(s.copy, function::identity{}, part, whole + first * s.stride);
}
template<Element T>
void put_part<T>::compute(part_steps const& s, place_in_mesh const&, T* whole, T const* part) const {
  nest_steps back = s.copy;
  std::swap(back.stride[0], back.stride[1]);
  if (back.iterations != 0) kernel::map_nest(back, function::identity{}, whole + first * s.stride, part);
}

#define MESHTF_PARTS(T)         \
  template struct take_part<T>; \
  template struct put_part<T>;
MESHTF_COMPILE_EACH(MESHTF_PARTS)
#undef MESHTF_PARTS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
