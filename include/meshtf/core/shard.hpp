// Shards: where the elements that a process holds are in the whole tensor.
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
  for (std::size_t d = 0; d < dims.size(); ++d) first[d] = here.part_of(dims[d].over) * dims[d].room();
  return first;
}

/// How many elements of each dimension there are in all processes together, while counted dimensions have as
/// many as `now` says.
template<std::size_t N>
constexpr std::array<extent, N> whole_extents(std::array<placed, N> const& dims, counts const& now) {
  std::array<extent, N> whole{};
  for (std::size_t d = 0; d < N; ++d) whole[d] = now.of(dims[d].counted, dims[d].size);
  return whole;
}

/// How many of them the process at `here` holds.
template<std::size_t N>
constexpr std::array<extent, N> held_extents(std::array<placed, N> const& dims, place_in_mesh const& here,
                                             counts const& now = {}) {
  auto held = whole_extents(dims, now);
  for (std::size_t d = 0; d < N; ++d) held[d] = dims[d].held(here.part_of(dims[d].over), held[d]);
  return held;
}

/// f(offset in the shard, offset in the whole, length) for each run of held elements that are contiguous in
/// both, in the order of the shard. `first` is the result of `first_indices`, `held` the number of elements
/// that the process holds of each dimension, `sizes` those of all processes together.
template<class F>
void for_each_run(std::span<placed const> dims, std::array<extent, max_rank> const& first,
                  std::span<extent const> held, std::span<extent const> sizes, F f) {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (held[d] == 0) return;
  // the innermost whole dimensions and the part of the next dimension out make one run
  extent run       = 1;
  std::size_t rank = dims.size();
  while (rank > 0) {
    --rank;
    run *= held[rank];
    if (held[rank] != sizes[rank] || held[rank] != dims[rank].room()) break;
  }
  // from one index of a dimension to the next, in the shard and in the whole
  std::array<std::array<extent, max_rank>, 2> strides{};
  extent whole = 0;
  extent size  = 1;
  extent room  = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[0][d] = room;
    strides[1][d] = size;
    whole += first[d] * size;
    size *= sizes[d];
    room *= dims[d].room();
  }
  for_each_index<2>(held.first(rank), strides, {0, whole}, [&](auto const& at) { f(at[0], at[1], run); });
}

/// The same for the process at `here`, while counted dimensions have as many elements as `now` says.
template<std::size_t N, class F>
void for_each_run(std::array<placed, N> const& dims, place_in_mesh const& here, counts const& now, F f) {
  for_each_run(dims, first_indices(dims, here), held_extents(dims, here, now), whole_extents(dims, now),
               std::move(f));
}

/// The same where there are as many elements as there is room for.
template<class F>
void for_each_run(std::span<placed const> dims, std::array<extent, max_rank> const& first, F f) {
  small_array<extent, max_rank> held{};
  small_array<extent, max_rank> sizes{};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    held[d]  = dims[d].held(first[d] / dims[d].room());
    sizes[d] = dims[d].size;
  }
  auto const rank = static_cast<int>(dims.size());
  for_each_run(dims, first, held.first(rank), sizes.first(rank), std::move(f));
}
/// The same for the process at `here`.
template<class F>
void for_each_run(std::span<placed const> dims, place_in_mesh const& here, F f) {
  for_each_run(dims, first_indices(dims, here), std::move(f));
}

}  // namespace v0
}  // namespace meshtf
