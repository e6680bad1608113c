// A view of memory as an xtensor array.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

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

/// The same of the first `extents` elements of each dimension of an array whose allocated extents are
/// `allocated`.
template<class T, std::size_t N>
auto xtensor_view(T* data, std::array<extent, N> const& extents, std::array<extent, N> const& allocated) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return xt::view(xtensor_view(data, allocated), xt::range(0, static_cast<std::ptrdiff_t>(extents[I]))...);
  }(std::make_index_sequence<N>{});
}

/// The views of a mesh's processes, for a header that is read before xtensor's are.
template<class T>
struct viewer {
  template<class... A>
  static auto view(A const&... a) {
    return xtensor_view(a...);
  }
};

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
