// Convolutions in which each channel stays by itself ("depthwise"), of images whose channels are last.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/simd.hpp>
#include <meshtf/plan/convolution.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace detail {

/// The elements begin ... end - 1 of a window that begins at `first` which lie within the image.
struct taps_within {
  extent begin;
  extent end;
  constexpr taps_within(extent first, extent dilation, extent taps, extent size)
      : begin{first >= 0 ? 0 : (-first + dilation - 1) / dilation},
        end{std::min(taps, first >= size ? 0 : (size - 1 - first) / dilation + 1)} {}
};

/// `Pixels` pixels of z next to each other, whose windows have the same elements within the image: the
/// channels of one vector, whose part of the filter is read once for all of the pixels. x begins where the
/// first pixel's window begins, also if that is outside.
template<std::size_t Pixels, class T, class Lanes>
[[gnu::always_inline]] inline void convolve_vector(Lanes const& lanes, convolution_steps const& s,
                                                   taps_within const (&taps)[3], T const* x, T const* filter,
                                                   T* z) {
  using batch         = typename Lanes::batch;
  extent const n      = s.groups;
  extent const next   = s.step[2] * n;
  extent const across = s.dilation[2] * n;
  std::array<batch, Pixels> sum;
  unrolled<Pixels>([&](auto i) __attribute__((always_inline)) { sum[i()] = batch(T{0}); });
  for (extent a = taps[0].begin; a < taps[0].end; ++a)
    for (extent b = taps[1].begin; b < taps[1].end; ++b) {
      T const* f = filter + ((a * s.taps[1] + b) * s.taps[2] + taps[2].begin) * n;
      T const* from =
          x + (a * s.dilation[0] * s.from[1] + b * s.dilation[1]) * s.from[2] * n + taps[2].begin * across;
      for (extent c = taps[2].begin; c < taps[2].end; ++c, f += n, from += across) {
        batch const weight = lanes.load(f);
        unrolled<Pixels>([&](auto i) __attribute__((always_inline)) {
          sum[i()] = sum[i()] + lanes.load(from + static_cast<extent>(i()) * next) * weight;
        });
      }
    }
  unrolled<Pixels>([&](auto i) __attribute__((always_inline)) {
    lanes.store(sum[i()], z + static_cast<extent>(i()) * n);
  });
}
template<class Lanes, std::size_t Pixels, class T>
[[gnu::noinline]] void convolve_pixels_of_channels(convolution_steps const& s, taps_within const (&taps)[3],
                                                   T const* x, T const* filter, T* z) {
  constexpr extent width = Lanes::width;
  extent const whole     = s.groups / width * width;
  extent const left      = s.groups - whole;
  for (extent position = 0; position < whole; position += width)
    convolve_vector<Pixels>(Lanes{}, s, taps, x + position, filter + position, z + position);
  if (left > 0)
    convolve_vector<Pixels>(leading_lanes<Lanes>{left}, s, taps, x + whole, filter + whole, z + whole);
}

/// z = x convolved with a filter [taps, channels]. Four pixels at a time where their windows lie within the
/// rows.
template<class Arch, class T>
void convolve_each_channel(convolution_steps const& s, T const* x, T const* filter, T* z) {
  using lanes           = kernel::lanes<T, Arch>;
  constexpr int at_once = 4;
  extent const n        = s.groups;
  extent const lines    = s.to[0] * s.to[1];
  extent const line     = s.to[2] * n;
  extent const image    = s.from[0] * s.from[1] * s.from[2] * n;
  extent const reach    = (s.taps[2] - 1) * s.dilation[2];
  parallel_for(s.batch * lines, 1, s.flops(), [&](extent begin, extent end) {
    for (extent l = begin; l < end; ++l) {
      extent const depth = l % lines / s.to[1] * s.step[0] - s.before[0];
      extent const row   = l % s.to[1] * s.step[1] - s.before[1];
      taps_within taps[3]{{depth, s.dilation[0], s.taps[0], s.from[0]},
                          {row, s.dilation[1], s.taps[1], s.from[1]},
                          {0, 1, s.taps[2], s.taps[2]}};
      T const* const from = x + l / lines * image + (depth * s.from[1] + row) * s.from[2] * n;
      for (extent i = 0; i < s.to[2];) {
        extent const column = i * s.step[2] - s.before[2];
        T* const to         = z + l * line + i * n;
        if (i + at_once <= s.to[2] && column >= 0 && column + (at_once - 1) * s.step[2] + reach < s.from[2]) {
          taps[2] = {0, 1, s.taps[2], s.taps[2]};
          convolve_pixels_of_channels<lanes, at_once>(s, taps, from + column * n, filter, to);
          i += at_once;
        } else {
          taps[2] = {column, s.dilation[2], s.taps[2], s.from[2]};
          convolve_pixels_of_channels<lanes, 1>(s, taps, from + column * n, filter, to);
          ++i;
        }
      }
    }
  });
}

/// The steps of the gradient of the input as a convolution of z with the filter's elements in reverse order.
/// There must be no strides.
constexpr convolution_steps turned(convolution_steps s) {
  std::swap(s.from, s.to);
  for (std::size_t i = 0; i < 3; ++i) s.before[i] = (s.taps[i] - 1) * s.dilation[i] - s.before[i];
  return s;
}

}  // namespace detail
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
