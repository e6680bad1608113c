// Copies a matrix in the cache with its rows as columns: in squares that fit into registers, and at the edges
// with only the lanes that exist.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <meshtf/kernel/simd.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// One square of `copy_transposed`: `high` rows of `broad` elements, each at most a batch; if `Whole`, both
/// are a whole batch.
template<class Lanes, class T, bool Whole>
[[gnu::always_inline]] inline void copy_square(T const* x, extent from_pitch, T* z, extent to_pitch,
                                               extent high, extent broad) {
  std::array<typename Lanes::batch, Lanes::width> square;
  unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) {
    if constexpr (Whole) square[n] = Lanes::load(x + static_cast<extent>(n()) * from_pitch);
    else
      // repeats the last row where none is left
      square[n] = load_first<Lanes>(x, broad), x += static_cast<extent>(n()) + 1 < high ? from_pitch : 0;
  });
  transpose_square<Lanes, T>(square);
  unrolled<Lanes::width>([&](auto n) __attribute__((always_inline)) {
    if constexpr (Whole) Lanes::store(square[n], z + static_cast<extent>(n()) * to_pitch);
    else if (static_cast<extent>(n()) < broad)
      store_first<Lanes>(square[n], z + static_cast<extent>(n()) * to_pitch, high);
  });
}

/// to[j][i] = from[i][j] for `rows` x `columns` elements; `from_pitch` and `to_pitch` are the strides from
/// row to row. The last squares overlap those before them, so that they are whole if the matrix is large
/// enough for one.
template<class Lanes, class T>
[[gnu::noinline]] void copy_transposed(extent rows, extent columns, T const* from, extent from_pitch, T* to,
                                       extent to_pitch) {
  constexpr extent width = Lanes::width;
  extent const high      = std::min(width, rows);
  extent const broad     = std::min(width, columns);
  bool const whole       = high == width && broad == width;
  for (extent i = 0; i < rows; i += width)
    for (extent j = 0; j < columns; j += width) {
      extent const row    = std::min(i, rows - high);
      extent const column = std::min(j, columns - broad);
      T const* const x    = from + row * from_pitch + column;
      T* const z          = to + column * to_pitch + row;
      if (whole) copy_square<Lanes, T, true>(x, from_pitch, z, to_pitch, width, width);
      else copy_square<Lanes, T, false>(x, from_pitch, z, to_pitch, high, broad);
    }
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
