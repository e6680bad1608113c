// A matrix in the cache copied with its rows as columns: squares that lie in registers, edges by the lanes that are there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/kernel/simd.hpp>

namespace meshtf::inline v0 {
namespace kernel {
namespace detail {

/// to[j][i] = from[i][j] of `rows` x `columns` elements; from row to row `from_pitch` and `to_pitch`.
template<class Lanes, class T>
[[gnu::noinline]] void copy_transposed(extent rows, extent columns, T const* from, extent from_pitch, T* to, extent to_pitch) {
  constexpr extent width = Lanes::width;
  for (extent i = 0; i < rows; i += width)
    for (extent j = 0; j < columns; j += width) {
      T const* const x   = from + i * from_pitch + j;
      T* const z         = to + j * to_pitch + i;
      extent const high  = std::min(width, rows - i);
      extent const broad = std::min(width, columns - j);
      std::array<typename Lanes::batch, Lanes::width> square;
      if (high == width && broad == width) {
        unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) { square[n] = Lanes::load(x + static_cast<extent>(n()) * from_pitch); });
      } else {
        unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) {
          square[n] =
              load_first<Lanes>(x + std::min(static_cast<extent>(n()), high - 1) * from_pitch, broad);   // the last row again where there is none
        });
      }
      transpose_square<Lanes, T>(square);
      if (high == width && broad == width) {
        unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) { Lanes::store(square[n], z + static_cast<extent>(n()) * to_pitch); });
      } else {
        unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) {
          if (static_cast<extent>(n()) < broad) store_first<Lanes>(square[n], z + static_cast<extent>(n()) * to_pitch, high);
        });
      }
    }
}

}  // namespace detail
}  // namespace kernel
}  // namespace meshtf::inline v0
