// Padding: the elements of a shard past those that a process holds.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include <meshtf/core/odometer.hpp>
#include <meshtf/plan/shard_plan.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// Writes zeros where the process at `here` has room but holds nothing.
template<Element T>
void clear_padding(std::span<placed const> dims, place_in_mesh const& here, T* z) {
  std::array<extent, max_rank> held{}, stride{};
  extent size = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    held[d]   = dims[d].held(here.part_of(dims[d].over));
    stride[d] = size;
    size *= dims[d].room();
  }
  for (std::size_t d = 0; d < dims.size(); ++d)  // behind the held elements of dimension d, within held elements of the dimensions before it
    for_each_index<1>(std::span{held}.first(d), std::array<std::array<extent, max_rank>, 1>{stride}, {held[d] * stride[d]},
                      [&](auto const& at) { std::fill_n(z + at[0], (dims[d].room() - held[d]) * stride[d], T{}); });
}

}  // namespace kernel

namespace task {

template<Element T>
void compute(clear_padding<T> const&, shard_steps const& s, place_in_mesh const& here, T* z) {
  kernel::clear_padding(s.dims(), here, z);
}

}  // namespace task
}  // namespace v0
}  // namespace meshtf
