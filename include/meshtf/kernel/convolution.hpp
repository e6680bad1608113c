// Convolutions of images whose channels are last, and their gradients: in single precision by oneDNN
// (kernel/library_convolution.hpp); otherwise, and where oneDNN has no fast way, by products of windows and
// the filter, some rows of pixels at a time.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include <meshtf/kernel/depthwise.hpp>
#include <meshtf/kernel/gemm.hpp>
#include <meshtf/kernel/library_convolution.hpp>
#include <meshtf/kernel/nest.hpp>
#include <meshtf/kernel/onednn.hpp>
#include <meshtf/plan/convolution.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

namespace detail {

/// f(at_filter, at_packed) for each element of a filter, which is packed as [group, taps, in, out].
template<class F>
void for_each_of_filter(convolution_steps const& s, F const& f) {
  extent packed = 0;
  for (extent g = 0; g < s.groups; ++g)
    for (extent a = 0; a < s.taps[0]; ++a)
      for (extent b = 0; b < s.taps[1]; ++b)
        for (extent c = 0; c < s.taps[2]; ++c)
          for (extent i = 0; i < s.in; ++i) {
            extent const position = g * s.filter_group + a * s.filter_tap[0] + b * s.filter_tap[1] +
                                    c * s.filter_tap[2] + i * s.filter_in;
            for (extent o = 0; o < s.out; ++o) f(position + o * s.filter_out, packed++);
          }
}

/// f(at_window, at_x, n) for each n elements that lie together both in an image and in the windows [pixel,
/// taps, in] of a group: those of the pixels `begin`, ..., `end` - 1 of all images. What is beyond the images
/// is left out.
template<class F>
void for_each_seen(convolution_steps const& s, extent group, extent begin, extent end, F const& f) {
  extent const channels = s.groups * s.in;
  extent const pixels   = s.pixels();
  extent const window   = s.all_taps() * s.in;
  bool const runs = s.groups == 1 && s.dilation[2] == 1;  // the last taps and their channels lie together
  for (extent p = begin; p < end; ++p) {
    extent const image    = p / pixels;
    extent const position = p % pixels;
    std::array<extent, 3> const place{position / (s.to[1] * s.to[2]), position / s.to[2] % s.to[1],
                                      position % s.to[2]};
    std::array<extent, 3> first{};
    for (std::size_t i = 0; i < 3; ++i) first[i] = place[i] * s.step[i] - s.before[i];
    extent const to = (p - begin) * window;
    for (extent a = 0; a < s.taps[0]; ++a) {
      extent const depth = first[0] + a * s.dilation[0];
      if (depth < 0 || depth >= s.from[0]) continue;
      for (extent b = 0; b < s.taps[1]; ++b) {
        extent const row = first[1] + b * s.dilation[1];
        if (row < 0 || row >= s.from[1]) continue;
        extent const line = ((image * s.from[0] + depth) * s.from[1] + row) * s.from[2];
        extent const taps = (a * s.taps[1] + b) * s.taps[2];
        if (runs) {
          extent const skipped = std::max<extent>(0, -first[2]);
          extent const last    = std::min(s.taps[2], s.from[2] - first[2]);
          if (last > skipped)
            f(to + (taps + skipped) * s.in, (line + first[2] + skipped) * channels, (last - skipped) * s.in);
          continue;
        }
        for (extent c = 0; c < s.taps[2]; ++c) {
          extent const column = first[2] + c * s.dilation[2];
          if (column >= 0 && column < s.from[2])
            f(to + (taps + c) * s.in, (line + column) * channels + group * s.in, s.in);
        }
      }
    }
  }
}

/// What convolutions of each channel by itself give back.
template<FloatingElement T>
void convolve_channels_back(convolution_way way, convolution_steps const& s, T* x, T* packed, T* z) {
  // Here a "group" of one window element is all channels: taps walk as if there were one group with all of
  // them.
  convolution_steps all = s;
  all.in                = s.groups;
  all.groups            = 1;
  extent const n        = s.groups;
  for (extent p = 0; p < s.batch * s.pixels(); ++p) {
    T* const to = z + p * n;
    for_each_seen(all, 0, p, p + 1, [&](extent at_window, extent at_x, extent count) {
      for (extent i = 0; i < count; i += n) {  // tap by tap
        T* const f = packed + at_window + i;
        T* const v = x + at_x + i;
        if (way == convolution_way::to_input)
          for (extent c = 0; c < n; ++c) v[c] += to[c] * f[c];
        else
          for (extent c = 0; c < n; ++c) f[c] += v[c] * to[c];
      }
    });
  }
}

/// Windows of one element, which are the images' own: one product.
template<FloatingElement T>
void convolve_pixels(convolution_way way, convolution_steps const& s, T* x, T* packed, T* z) {
  extent const n    = s.batch * s.pixels();
  extent const in_x = s.groups * s.in;
  extent const in_z = s.groups * s.out;
  for (extent g = 0; g < s.groups; ++g) {
    T* const from = x + g * s.in;
    T* const f    = packed + g * s.in * s.out;
    T* const to   = z + g * s.out;
    if (way == convolution_way::forward)
      gemm<T>(false, false, n, s.out, s.in, from, in_x, f, s.out, T{0}, to, in_z);
    else if (way == convolution_way::to_input)
      gemm<T>(false, true, n, s.in, s.out, to, in_z, f, s.out, T{0}, from, in_x);
    else gemm<T>(true, false, s.in, s.out, n, from, in_x, to, in_z, T{0}, f, s.out);
  }
}

/// By products of windows. `packed` has space for the filter, which is copied there unless it is in order;
/// `windows` has space for those of some pixels. What is not written is read only.
template<FloatingElement T>
void convolve_by_products(convolution_way way, convolution_steps const& s, T* x, T* filter, T* z, T* packed,
                          T* windows) {
  bool const by_channel    = s.in == 1 && s.out == 1 && s.groups > 1;
  bool const writes_filter = way == convolution_way::to_filter;
  bool const in_place      = s.filter_is_in_order();
  extent const window      = s.window();
  extent const all         = s.batch * s.pixels();
  extent const at_once     = s.pixels_at_once();
  extent const in_z        = s.groups * s.out;
  extent const taps        = s.all_taps();
  bool const turns         = by_channel && way == convolution_way::to_input && s.has_no_strides();
  auto const place = [&](extent i) {  // of [group, taps] in [taps, group], where each channel is by itself
    if (!by_channel) return i;
    extent const tap = i % taps;
    return (turns ? taps - 1 - tap : tap) * s.groups + i / taps;
  };
  if (in_place) packed = filter;
  else if (writes_filter && by_channel) std::fill_n(packed, s.filter_elements(), T{0});
  else if (!writes_filter)
    for_each_of_filter(s, [&](extent from, extent to) { packed[place(to)] = filter[from]; });
  if (s.of_pixels() && !by_channel) {
    convolve_pixels(way, s, x, packed, z);
  } else if (by_channel && way == convolution_way::forward) {
    convolve_each_channel<default_arch>(s, x, packed, z);
  } else if (turns) {
    convolve_each_channel<default_arch>(turned(s), z, packed, x);
  } else if (by_channel) {
    if (way == convolution_way::to_input) std::fill_n(x, s.x.iterations, T{0});
    convolve_channels_back(way, s, x, packed, z);
  } else {
    if (way == convolution_way::to_input) std::fill_n(x, s.x.iterations, T{0});
    for (extent begin = 0; begin < all; begin += at_once)
      for (extent g = 0; g < s.groups; ++g) {
        extent const end = std::min(all, begin + at_once);
        extent const n   = end - begin;
        T* const f       = packed + g * window * s.out;
        T* const some    = z + begin * in_z + g * s.out;
        if (way == convolution_way::to_input) {
          gemm<T>(false, true, n, window, s.out, some, in_z, f, s.out, T{0}, windows, window);
          for_each_seen(s, g, begin, end, [&](extent from, extent to, extent count) {
            for (extent i = 0; i < count; ++i) x[to + i] += windows[from + i];
          });
          continue;
        }
        parallel_for(n, 1, n * window, [&](extent first, extent last) {
          T* const own = windows + first * window;
          std::fill_n(own, (last - first) * window, T{0});
          for_each_seen(s, g, begin + first, begin + last, [&](extent to, extent from, extent count) {
            std::copy_n(x + from, count, own + to);
          });
        });
        if (writes_filter)
          gemm<T>(true, false, window, s.out, n, windows, window, some, in_z, begin == 0 ? T{0} : T{1}, f,
                  s.out);
        else gemm<T>(false, false, n, s.out, window, windows, window, f, s.out, T{0}, some, in_z);
      }
  }
  if (writes_filter && !in_place)
    for_each_of_filter(s, [&](extent to, extent from) { filter[to] = packed[place(from)]; });
}

}  // namespace detail

/// A convolution or a gradient of it; `way` says which of the three arrays is written. `x` begins at the
/// first window.
template<FloatingElement T>
void convolve(convolution_way way, convolution_steps const& s, T* x, T* filter, T* z, T* scratch) {
  T* const x_copy  = scratch;
  T* const z_copy  = x_copy + s.x_copy;
  T* const filters = z_copy + s.z_copy;
  T* const windows = filters + (way == convolution_way::to_filter ? s.max_parts() : 1) * s.filter_scratch();
  T* const own_x   = s.x_has_gaps ? x_copy : x;
  T* const own_z   = s.z_has_gaps ? z_copy : z;
  auto const pack  = [](nest_steps const& nest, T const* from, T* to) {
    map_nest(nest, function::identity{}, to, from);
  };
  auto const unpack = [&](nest_steps nest, T const* from, T* to) {
    std::swap(nest.stride[0], nest.stride[1]);
    pack(nest, from, to);
  };
  if (s.x_has_gaps && way != convolution_way::to_input) pack(s.x, x, x_copy);
  if (s.z_has_gaps && way != convolution_way::forward) pack(s.z, z, z_copy);
  bool done = false;
#if MESHTF_HAS_ONEDNN_PRIMITIVES
  // oneDNN computes whole blocks of 16 channels: for the gradient of 3 channels and 7 x 7 taps it takes three
  // times as long as products do.
  bool const few = way == convolution_way::to_input && s.groups == 1 && (s.in <= 4 || s.of_pixels());
  // With channels last it reads images several times for the gradient of a filter with strides; and that of a
  // large filter is written once for each part of the batch.
  bool const many = way == convolution_way::to_filter && s.groups == 1 && s.in >= 16 &&
                    (std::max({s.step[0], s.step[1], s.step[2]}) > 1 ||
                     s.filter_elements() > s.x.iterations + s.z.iterations);
  // Of many channels that stay apart and are last, its gradient of the input takes 1.2 times as long as ours.
  bool const apart =
      way == convolution_way::to_input && s.in == 1 && s.out == 1 && s.groups >= 16 && s.has_no_strides();
  if constexpr (std::same_as<T, float>)
    done = convolves_by_library() && !few && !many && !apart &&
           detail::convolve_by_library(way, s, own_x, filter, own_z, filters);
#endif
  if (!done) detail::convolve_by_products(way, s, own_x, filter, own_z, filters, windows);
  if (s.x_has_gaps && way == convolution_way::to_input) unpack(s.x, x_copy, x);
  if (s.z_has_gaps && way == convolution_way::forward) unpack(s.z, z_copy, z);
}

}  // namespace kernel

namespace task {

template<Element T>
void convolved<T>::compute(convolution_steps const& s, place_in_mesh const& here, T const* x, T const* filter,
                           T* z, T* scratch) const {
  if (s.batch * s.pixels() * s.groups * s.out == 0) return;
  if (s.is_empty()) {  // no channels that come in
    auto own = s.z;
    std::swap(own.stride[0], own.stride[1]);
    return kernel::fill_results(own, T{}, z);
  }
  kernel::convolve<T>(kernel::convolution_way::forward, s, const_cast<T*>(x) + s.first(here),
                      const_cast<T*>(filter), z, scratch);
}
template<Element T>
void convolved_to_input<T>::compute(convolution_steps const& s, place_in_mesh const& here, T const* z,
                                    T const* filter, T* x, T* scratch) const {
  if (s.is_empty() || s.x_has_rest) std::fill_n(x, s.x_allocated, T{});
  if (s.is_empty()) return;
  kernel::convolve<T>(kernel::convolution_way::to_input, s, x + s.first(here), const_cast<T*>(filter),
                      const_cast<T*>(z), scratch);
}
template<Element T>
void convolved_to_filter<T>::compute(convolution_steps const& s, place_in_mesh const& here, T const* x,
                                     T const* z, T* filter, T* scratch) const {
  if (s.is_empty())
    return kernel::detail::for_each_of_filter(s, [&](extent position, extent) { filter[position] = T{}; });
  kernel::convolve<T>(kernel::convolution_way::to_filter, s, const_cast<T*>(x) + s.first(here), filter,
                      const_cast<T*>(z), scratch);
}

#define MESHTF_CONVOLUTIONS(T)           \
  template struct convolved<T>;          \
  template struct convolved_to_input<T>; \
  template struct convolved_to_filter<T>;
MESHTF_COMPILE_WIDE(MESHTF_CONVOLUTIONS)
#undef MESHTF_CONVOLUTIONS

}  // namespace task
}  // namespace v0
}  // namespace meshtf
