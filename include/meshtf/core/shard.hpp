// Shards: where the local elements of a process are in the global tensor.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <meshtf/core/counts.hpp>
#include <meshtf/core/odometer.hpp>
#include <meshtf/core/placed.hpp>

namespace meshtf {
inline namespace v0 {

/// The first index of each dimension that a process holds.
constexpr std::array<extent, max_rank> first_indices(std::span<placed const> dims,
                                                     place_in_mesh const& here) {
  std::array<extent, max_rank> first{};
  for (std::size_t d = 0; d < dims.size(); ++d)
    first[d] = here.part_of(dims[d].over) * dims[d].allocated_extent();
  return first;
}

/// The global extent of each dimension, while counted dimensions have as many elements as `now` says.
template<std::size_t N>
constexpr std::array<extent, N> global_extents(std::array<placed, N> const& dims, counts const& counted) {
  std::array<extent, N> global{};
  for (std::size_t d = 0; d < N; ++d) global[d] = counted.of(dims[d].counted, dims[d].size);
  return global;
}

/// The local extent of each dimension on the process at `here`.
template<std::size_t N>
constexpr std::array<extent, N> local_extents(std::array<placed, N> const& dims, place_in_mesh const& here,
                                              counts const& counted = {}) {
  auto local = global_extents(dims, counted);
  for (std::size_t d = 0; d < N; ++d) local[d] = dims[d].local_extent(here.part_of(dims[d].over), local[d]);
  return local;
}

/// The former names of `global_extents` and `local_extents`.
template<std::size_t N>
[[deprecated("use global_extents")]] constexpr std::array<extent, N> whole_extents(
    std::array<placed, N> const& dims, counts const& counted) {
  return global_extents(dims, counted);
}
template<std::size_t N>
[[deprecated("use local_extents")]] constexpr std::array<extent, N> held_extents(
    std::array<placed, N> const& dims, place_in_mesh const& here, counts const& counted = {}) {
  return local_extents(dims, here, counted);
}

/// f(offset in the shard, offset in the global tensor, length) for each run of local elements that are
/// contiguous in both, in the order of the shard. `first` is the result of `first_indices`, `local` the local
/// extents and `global_sizes` the global extents.
template<class F>
void for_each_run(std::span<placed const> dims, std::array<extent, max_rank> const& first,
                  std::span<extent const> local, std::span<extent const> global_sizes, F f) {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (local[d] == 0) return;
  // the innermost unsplit dimensions and the part of the next dimension out make one run
  extent run       = 1;
  std::size_t rank = dims.size();
  while (rank > 0) {
    --rank;
    run *= local[rank];
    if (local[rank] != global_sizes[rank] || local[rank] != dims[rank].allocated_extent()) break;
  }
  // from one index of a dimension to the next, in the shard and in the global tensor
  std::array<std::array<extent, max_rank>, 2> strides{};
  extent global    = 0;
  extent size      = 1;
  extent allocated = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[0][d] = allocated;
    strides[1][d] = size;
    global += first[d] * size;
    size *= global_sizes[d];
    allocated *= dims[d].allocated_extent();
  }
  for_each_index<2>(local.first(rank), strides, {0, global},
                    [&](auto const& offset) { f(offset[0], offset[1], run); });
}

/// The same for the process at `here`, while counted dimensions have as many elements as `now` says.
template<std::size_t N, class F>
void for_each_run(std::array<placed, N> const& dims, place_in_mesh const& here, counts const& counted, F f) {
  for_each_run(dims, first_indices(dims, here), local_extents(dims, here, counted),
               global_extents(dims, counted), std::move(f));
}

/// The same where every counted dimension has its largest extent.
template<class F>
void for_each_run(std::span<placed const> dims, std::array<extent, max_rank> const& first, F f) {
  small_array<extent, max_rank> local{};
  small_array<extent, max_rank> global_sizes{};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    local[d]        = dims[d].local_extent(first[d] / dims[d].allocated_extent());
    global_sizes[d] = dims[d].size;
  }
  auto const rank = static_cast<int>(dims.size());
  for_each_run(dims, first, local.first(rank), global_sizes.first(rank), std::move(f));
}
/// The same for the process at `here`.
template<class F>
void for_each_run(std::span<placed const> dims, place_in_mesh const& here, F f) {
  for_each_run(dims, first_indices(dims, here), std::move(f));
}

}  // namespace v0
}  // namespace meshtf
