// Odometers: several indices that count up as one, and the array offsets that they lead to.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/shape.hpp>

namespace meshtf {
inline namespace v0 {

/// f(at) for each combination of indices 0 ... sizes[i] - 1, the last index fastest: once if there are no sizes, never if one is 0. `at[k]` is the
/// offset in the k-th of `N` arrays; it begins at the given `at`, and moves by `strides[k][i]` from one i-th index to the next.
template<std::size_t N, class Strides, class F>
constexpr void for_each_index(std::span<extent const> sizes, Strides const& strides, std::array<extent, N> at, F const& f) {
  for (extent n : sizes)
    if (n == 0) return;
  std::array<extent, max_rank> index{};
  for (;;) {
    f(at);
    for (std::size_t i = sizes.size();;) {
      if (i-- == 0) return;
      bool const wraps = ++index[i] == sizes[i];
      for (std::size_t k = 0; k < N; ++k) at[k] += wraps ? strides[k][i] * (1 - sizes[i]) : strides[k][i];
      if (!wraps) break;
      index[i] = 0;
    }
  }
}

/// The same from 0 for the combinations number `begin`, ..., `end` - 1.
template<std::size_t N, class Strides, class F>
constexpr void for_some_indices(std::span<extent const> sizes, Strides const& strides, extent begin, extent end, F const& f) {
  if (begin >= end) return;
  std::array<extent, max_rank> index{};
  std::array<extent, N> at{};
  extent rest = begin;
  for (std::size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) {
    index[i] = rest % sizes[i];
    for (std::size_t k = 0; k < N; ++k) at[k] += strides[k][i] * index[i];
  }
  for (;;) {
    f(at);
    if (++begin == end) return;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      bool const wraps = ++index[i] == sizes[i];
      for (std::size_t k = 0; k < N; ++k) at[k] += wraps ? strides[k][i] * (1 - sizes[i]) : strides[k][i];
      if (!wraps) break;
      index[i] = 0;
    }
  }
}

}  // namespace v0
}  // namespace meshtf
