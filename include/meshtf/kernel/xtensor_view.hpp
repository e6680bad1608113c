// A view of memory as an xtensor array.
#pragma once

#include <array>
#include <cstddef>

#include <meshtf/core/dim.hpp>
#include <meshtf/kernel/xtensor.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// A row-major view that does not own the memory; of a `T const*`, a read-only view.
template<class T, std::size_t N>
auto xtensor_view(T* data, std::array<extent, N> const& extents) {
  std::array<std::size_t, N> shape{};
  std::size_t size = 1;
  for (std::size_t i = 0; i < N; ++i) size *= shape[i] = static_cast<std::size_t>(extents[i]);
  return xt::adapt<xt::layout_type::row_major>(data, size, xt::no_ownership(), shape);
}

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
