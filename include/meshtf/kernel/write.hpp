// Writing a part: copies between a part and its place in an array of which each process may have some
// elements.
#pragma once

#include <utility>

#include <meshtf/kernel/nest.hpp>
#include <meshtf/plan/write_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace task {

template<Element T>
void write_part<T>::compute(write_steps const& s, place_in_mesh const& here, T* whole, T const* part) const {
  write_range range{s, first, here};
  if (range.copy.iterations == 0) return;
  std::swap(range.copy.stride[0], range.copy.stride[1]);
  kernel::map_nest(range.copy, function::identity{}, whole + range.in_whole, part + range.in_part);
}
template<Element T>
void move_part_out<T>::compute(write_steps const& s, place_in_mesh const& here, T* whole, T* part) const {
  write_range range{s, first, here};
  if (range.copy.iterations == 0) return;
  kernel::map_nest(range.copy, function::identity{}, part + range.in_part,
                   static_cast<T const*>(whole) + range.in_whole);
  std::swap(range.copy.stride[0], range.copy.stride[1]);
  kernel::fill_results(range.copy, T{}, whole + range.in_whole);
}

#define MESHTF_WRITES(T)         \
  template struct write_part<T>; \
  template struct move_part_out<T>;
MESHTF_COMPILE_EACH(MESHTF_WRITES)
#undef MESHTF_WRITES

}  // namespace task
}  // namespace v0
}  // namespace meshtf
