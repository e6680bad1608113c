// Odometers: several indices that count up as one, and the array offsets that they lead to.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/shape.hpp>

namespace meshtf {
inline namespace v0 {

/// Counts the first `rank` indices up by one, the last index fastest. Calls moved(i, by) for each one that
/// changes. Returns false if all are 0 again.
template<class Index, class Sizes, class F>
[[gnu::always_inline]] constexpr bool count_up(std::size_t rank, Index& index, Sizes const& sizes,
                                               F const& moved) {
  for (std::size_t i = rank; i-- > 0;) {
    if (++index[i] != sizes[i]) {
      moved(i, 1);
      return true;
    }
    moved(i, 1 - index[i]);
    index[i] = 0;
  }
  return false;
}

/// f(at) for each combination of indices 0 ... sizes[i] - 1, the last index fastest: once if there are no
/// sizes, never if one is 0. `at[k]` is the offset in the k-th of `N` arrays; it begins at the given `at`,
/// and moves by `strides[k][i]` from one i-th index to the next.
template<std::size_t N, class Strides, class F>
constexpr void for_each_index(std::span<extent const> sizes, Strides const& strides,
                              std::array<extent, N> offset, F const& f) {
  for (extent n : sizes)
    if (n == 0) return;
  std::array<extent, max_rank> index{};
  do f(offset);
  while (count_up(sizes.size(), index, sizes, [&](std::size_t i, extent count) {
    for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][i] * count;
  }));
}

/// The same from 0 for the combinations number `begin`, ..., `end` - 1.
template<std::size_t N, class Strides, class F>
constexpr void for_some_indices(std::span<extent const> sizes, Strides const& strides, extent begin,
                                extent end, F const& f) {
  if (begin >= end) return;
  std::array<extent, max_rank> index{};
  std::array<extent, N> offset{};
  extent rest = begin;
  for (std::size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) {
    index[i] = rest % sizes[i];
    for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][i] * index[i];
  }
  for (;;) {
    f(offset);
    if (++begin == end) return;
    count_up(sizes.size(), index, sizes, [&](std::size_t i, extent count) {
      for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][i] * count;
    });
  }
}

}  // namespace v0
}  // namespace meshtf
