// Padding: the elements of a shard past those that a process holds.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/plan/shard_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Writes zeros to the padding: the allocated elements that are not local.
template<Element T>
void clear_padding(std::span<placed const> dims, std::span<extent const> local, T* z) {
  std::array<extent, max_rank> stride{};
  extent size = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    stride[d] = size;
    size *= dims[d].allocated_extent();
  }
  // after the local elements of dimension d, within local elements of the dimensions before it
  for (std::size_t d = 0; d < dims.size(); ++d)
    for_each_index<1>(local.first(d), std::array<std::array<extent, max_rank>, 1>{stride},
                      {local[d] * stride[d]}, [&](auto const& start) {
                        std::fill_n(z + start[0], (dims[d].allocated_extent() - local[d]) * stride[d], T{});
                      });
}

}  // namespace kernel

namespace task {

template<Element T>
void clear_padding<T>::compute(shard_steps const& s, place_in_mesh const&, T* z) const {
  kernel::clear_padding(s.dims(), s.extents(), z);
}

#define MESHTF_PADDING(T) template struct clear_padding<T>;
MESHTF_COMPILE_EACH(MESHTF_PADDING)
#undef MESHTF_PADDING

}  // namespace task
}  // namespace v0
}  // namespace meshtf
