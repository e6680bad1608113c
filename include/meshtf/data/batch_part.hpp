// The part of a batch that one process holds, in plain memory: readers fill it on any thread.
#pragma once

#include <algorithm>
#include <array>

#include <meshtf/core/counts.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/layout.hpp>
#include <meshtf/core/placed.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {

/// The elements of a tensor of elements `T` and dimensions `D...` that this process holds under `L`, for a
/// reader to fill. It knows no machine, so a thread that must not touch one may fill it.
///
/// Elements lie as in the tensor: row-major, `allocated_extents` apart. A reader writes those of `extents()`;
/// what lies between them is padding.
template<Element T, Layout L, Dimension... D>
class batch_part {
public:
  using element_type = T;
  using layout_type  = L;
  using shape_type   = shape<D...>;

  /// The allocated elements: equal on all processes.
  static constexpr extent size = shard_size<L, shape<D...>>;

  /// The part of the process at `place`, while as many elements are counted as `counted` says, in `size`
  /// elements at `data`.
  batch_part(T* data, place_in_mesh const& place, counts const& counted) : data_{data}, counted_{counted} {
    std::copy(place.coordinates.begin(), place.coordinates.end(), coordinates_.begin());
  }
  /// The elements of a tensor, which are then written.
  explicit batch_part(tensor<T, L, D...>& x)
      : batch_part(x.data_to_write(), x.machine().place(), x.machine().counted()) {}

  T* data() const { return data_; }
  counts const& counted() const { return counted_; }
  place_in_mesh place() const {
    constexpr auto const& sizes = axis_sizes<typename L::mesh_type>;
    return {std::span{coordinates_}.first(sizes.size()), sizes};
  }

  /// The index in the whole batch of this part's first element, by dimension.
  std::array<extent, max_rank> first() const { return first_indices(placed_dims<L, shape<D...>>, place()); }
  /// How many elements of each dimension this part has: 0 where a process holds nothing.
  std::array<extent, sizeof...(D)> extents() const {
    return local_extents(placed_dims<L, shape<D...>>, place(), counted_);
  }
  /// f(offset here, offset in the whole batch, length) for each run of elements that lie in one piece in
  /// both.
  template<class F>
  void for_each_run(F f) const {
    meshtf::for_each_run(placed_dims<L, shape<D...>>, place(), counted_, std::move(f));
  }

  /// Whether both are the same part, wherever they lie.
  friend bool operator==(batch_part const& a, batch_part const& b) {
    return a.coordinates_ == b.coordinates_ && a.counted_ == b.counted_;
  }

private:
  T* data_;
  std::array<extent, max_axes> coordinates_{};
  counts counted_;
};

}  // namespace v0
}  // namespace meshtf
