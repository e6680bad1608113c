// Shards: where this process's elements stand in the whole tensor.
#pragma once

#include <array>
#include <span>

#include <meshtf/core/placed.hpp>

namespace meshtf::inline v0 {

/// The first index of each dimension that the process at `coordinates` (one for each axis of the mesh) holds.
inline std::array<extent, max_rank> first_indices(std::span<placed const> dims, std::span<extent const> coordinates,
                                                  std::span<extent const> axis_sizes) {
  std::array<extent, max_rank> first{};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    extent part = 0;
    for (int a : dims[d].over) part = part * axis_sizes[static_cast<std::size_t>(a)] + coordinates[static_cast<std::size_t>(a)];
    first[d] = part * dims[d].local_size();
  }
  return first;
}

/// f(offset in the shard, offset in the whole, length) for each run of elements that are contiguous in both, in the order of the shard.
template<class F>
void for_each_run(std::span<placed const> dims, std::array<extent, max_rank> const& first, F f) {
  // the innermost dimensions that are whole are one run, and so is a part of the next one out
  extent run       = 1;
  std::size_t rank = dims.size();
  while (rank > 0) {
    placed const& d = dims[rank - 1];
    run *= d.local_size();
    --rank;
    if (d.parts != 1) break;
  }
  extent inner = 1;   // elements of the whole within one index of dimension `rank`
  for (std::size_t d = rank + 1; d < dims.size(); ++d) inner *= dims[d].size;
  extent start = rank < dims.size() ? first[rank] * inner : 0;
  std::array<extent, max_rank> stride{};
  extent below = rank < dims.size() ? dims[rank].size * inner : 1;
  for (std::size_t d = rank; d-- > 0;) {
    stride[d] = below;
    start += first[d] * below;
    below *= dims[d].size;
  }

  std::array<extent, max_rank> index{};
  for (extent local = 0, whole = start;; local += run) {
    f(local, whole, run);
    std::size_t d = rank;
    while (d > 0) {
      --d;
      whole += stride[d];
      if (++index[d] < dims[d].local_size()) break;
      whole -= stride[d] * index[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace meshtf::inline v0
