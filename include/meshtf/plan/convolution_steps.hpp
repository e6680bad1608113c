// Convolutions as libraries know them, of images whose channels are last: what one process will do, decided
// before it runs.
#pragma once

#include <algorithm>

#include <meshtf/plan/window_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// How the windows of a convolution walk along one dimension, in elements of the local shard. Where
/// the dimension is whole, there are `before` zeros in front of it; where it is split, the halos are there,
/// and the first window begins at `start`, in each further part `shift` later.
struct convolution_walk {
  extent step     = 1;
  extent dilation = 1;
  extent before   = 0;
  extent start    = 0;
  extent shift    = 0;
  bool whole      = true;
};

/// A convolution z = x * filter of one process, or a gradient of it. Of `batch` images in memory one after
/// the other: `groups * in` channels of x, `groups * out` of z. Dimensions of space are the last `dims` of
/// three.
struct convolution_steps {
  int dims      = 1;
  extent batch  = 1;
  extent groups = 1;
  extent in     = 1;
  extent out    = 1;
  small_array<extent, 3> from{1, 1, 1};
  small_array<extent, 3> to{1, 1, 1};
  small_array<extent, 3> taps{1, 1, 1};
  small_array<extent, 3> step{1, 1, 1};
  small_array<extent, 3> dilation{1, 1, 1};
  small_array<extent, 3> before{};
  small_array<extent, 3> after{};
  // elements of the filter from one index to the next
  extent filter_group = 0;
  extent filter_in    = 0;
  extent filter_out   = 0;
  small_array<extent, 3> filter_tap{};
  // of the first window, in elements of x
  small_array<extent, 3> start{};
  small_array<extent, 3> shift{};
  small_array<axis_list, 3> over{};
  // copies between the arrays and images without gaps
  nest_steps x{};
  nest_steps z{};
  bool x_has_gaps    = false;
  bool z_has_gaps    = false;
  bool x_has_rest    = false;  // elements that no window sees
  extent x_allocated = 0;      // allocated elements of the array
  // elements of scratch memory for images without gaps: some process may need them
  extent x_copy = 0;
  extent z_copy = 0;

  // of the search for a layout, since what is sent depends on whether the dimensions are split
  static constexpr bool needs_whole       = true;
  static constexpr extent windows_at_once = extent{1} << 17;
  static constexpr extent min_pixels      = 16;

  /// Where the first window of a process begins in its array.
  constexpr extent first(place_in_mesh const& here) const {
    extent position = 0;
    for (std::size_t i = 0; i < 3; ++i)
      position += start[i] + (shift[i] == 0 ? 0 : shift[i] * here.part_of(over[i]));
    return position;
  }
  constexpr extent pixels() const { return to[0] * to[1] * to[2]; }
  /// Whether each window is the one pixel that it makes.
  constexpr bool of_pixels() const {
    return all_taps() == 1 && has_no_strides() && from == to && before == small_array<extent, 3>{};
  }
  constexpr bool has_no_strides() const { return step[0] == 1 && step[1] == 1 && step[2] == 1; }
  constexpr extent all_taps() const { return taps[0] * taps[1] * taps[2]; }
  constexpr extent filter_elements() const { return groups * all_taps() * in * out; }
  constexpr extent flops() const { return 2 * batch * pixels() * filter_elements(); }
  constexpr bool is_empty() const { return batch * pixels() * filter_elements() == 0; }

  /// Whether the filter lies in memory as products of windows take it: taps, channels that come in, channels
  /// that come out.
  constexpr bool filter_is_in_order() const {
    extent run      = 1;
    auto const fits = [&](extent n, extent from_one_to_next) {
      bool const lies_so = n == 1 || from_one_to_next == run;
      run *= n;
      return lies_so;
    };
    return groups == 1 && fits(out, filter_out) && fits(in, filter_in) && fits(taps[2], filter_tap[2]) &&
           fits(taps[1], filter_tap[1]) && fits(taps[0], filter_tap[0]);
  }
  /// Elements of a filter in the format of a library, which fills blocks of channels up.
  constexpr extent filter_scratch() const {
    auto const up         = [](extent n, extent block) { return (n + block - 1) / block * block; };
    extent const block    = out > 16 ? 64 : 16;
    extent const channels = in == 1 && out == 1 ? up(groups, 16) : groups * up(in, 16) * up(out, block);
    return all_taps() * channels;
  }
  /// Parts of the batch, which the threads share. They are equal, and depend on the work alone. Their
  /// gradients of the filter are added up in order.
  constexpr extent parts() const {
    for (extent n = max_parts(); n > 1; n /= 2)
      if (batch % n == 0) return n;
    return 1;
  }
  /// As many as a process may have that holds no more than this one.
  constexpr extent max_parts() const {
    constexpr extent worth_it = extent{1} << 23;  // operations that take some 100 us
    if (flops() >= 4 * worth_it) return 4;
    return flops() >= 2 * worth_it ? 2 : 1;
  }
  /// Where no library convolves, the minimum number of elements that are multiplied at once: at least those
  /// of the filter, which is read each time.
  constexpr extent min_at_once() const { return std::max(min_pixels, out); }
  constexpr extent pixels_at_once() const {
    return std::max<extent>(1,
                            std::min(batch * pixels(), std::max(windows_at_once / window(), min_at_once())));
  }
  constexpr extent windows_scratch() const {
    return std::min(batch * pixels() * window(), std::max(windows_at_once, min_at_once() * window()));
  }
  constexpr extent window() const { return std::max<extent>(1, all_taps() * in); }
  /// Elements of scratch memory: for copies without gaps, for the filter, of which each part has a gradient,
  /// and for windows.
  constexpr extent scratch(bool to_filter) const {
    return x_copy + z_copy + (to_filter ? max_parts() : 1) * filter_scratch() + windows_scratch();
  }
  /// Elements that are read and written of x, filter and z, and of copies of them.
  constexpr extent moved() const {
    extent const copies = (x_has_gaps ? x.iterations : 0) + (z_has_gaps ? z.iterations : 0);
    return x.iterations + z.iterations + filter_elements() + 2 * copies;
  }
};

namespace detail {

/// Steps whose windows walk so.
template<class Steps, std::size_t N>
constexpr Steps convolution_of(convolution_walk const (&walk)[N], task_loops const& l,
                               loop_extents const& e) {
  constexpr int n = int{N};
  Steps s;
  s.dims           = n;
  auto const all   = e.allocated_extents();
  auto const in_x  = strides_of(l.operand[0], all);
  auto const in_f  = strides_of(l.operand[1], all);
  auto const in_z  = strides_of(l.operand[2], all);
  auto const which = [&](int d, int from) {
    for (int i = 0; i < n; ++i)
      if (l.along[from * n + i] == d) return i;
    return -1;
  };
  bool uneven = false;  // whether some process, or some count, leaves gaps between rows
  for (int i = 0; i < n; ++i) {
    auto const index    = static_cast<std::size_t>(3 - n + i);
    int const from      = l.along[i];
    int const made      = l.along[n + i];
    int const tap       = l.along[2 * n + i];
    auto const& w       = walk[i];
    s.to[index]         = e.local[made];
    s.taps[index]       = e.local[tap];
    s.step[index]       = w.step;
    s.dilation[index]   = w.dilation;
    s.filter_tap[index] = in_f[tap];
    extent const seen   = (s.to[index] - 1) * w.step + (s.taps[index] - 1) * w.dilation + 1;
    s.from[index]       = w.whole ? e.local[from] : std::max<extent>(seen, 0);
    s.before[index]     = w.whole ? w.before : 0;
    s.after[index]      = w.whole ? std::max<extent>(0, seen - w.before - s.from[index]) : 0;
    s.start[index]      = w.start * in_x[from];
    s.shift[index]      = w.shift * in_x[from];
    s.over[index]       = l.dim[from].over;
    uneven              = uneven || l.dim[from].uneven() || l.dim[made].uneven();
    if (s.from[index] != e.allocated[from]) s.x_has_rest = true;
  }
  extent run = 1;  // elements of x in an image without gaps
  nest_steps x{.operands = 2};
  nest_steps z{.operands = 2};
  for (int k = l.operand[0].count; k-- > 0;) {
    int const d          = l.operand[0][k];
    int const i          = which(d, 0);
    bool const in_filter = l.operand[1].has(d);
    bool const group     = in_filter && l.operand[2].has(d);
    extent const size    = i >= 0 ? s.from[static_cast<std::size_t>(3 - n + i)] : e.local[d];
    if (i < 0 && group) {
      s.groups       = size;
      s.filter_group = in_f[d];
    } else if (i < 0 && in_filter) {
      s.in        = size;
      s.filter_in = in_f[d];
    } else if (i < 0) s.batch *= size;
    if (k > 0 && l.dim[d].uneven()) uneven = true;
    if (size != 1 && in_x[d] != run) s.x_has_gaps = true;
    x.size[k]      = size;
    x.stride[0][k] = in_x[d];
    x.stride[1][k] = run;
    run *= size;
  }
  x.rank        = l.operand[0].count;
  s.x_allocated = 1;
  for (int d : l.operand[0]) s.x_allocated *= e.allocated[d];
  run = 1;
  for (int k = l.operand[2].count; k-- > 0;) {
    int const d = l.operand[2][k];
    if (l.operand[1].has(d) && !l.operand[0].has(d) && which(d, 1) < 0) {
      s.out        = e.local[d];
      s.filter_out = in_f[d];
    }
    if (k > 0 && l.dim[d].uneven()) uneven = true;
    if (e.local[d] != 1 && in_z[d] != run) s.z_has_gaps = true;
    z.size[k]      = e.local[d];
    z.stride[0][k] = in_z[d];
    z.stride[1][k] = run;
    run *= e.local[d];
  }
  z.rank = l.operand[2].count;
  s.x    = collapsed(x);
  s.z    = collapsed(z);
  if (s.x_has_gaps || uneven) s.x_copy = s.x_allocated;
  if (s.z_has_gaps || uneven) {
    s.z_copy = 1;
    for (int d : l.operand[2]) s.z_copy *= e.allocated[d];
  }
  return s;
}

}  // namespace detail

/// Arrays: x, the filter, z. The steps ask for the dimensions of x that windows walk along, those that they
/// make, and those of a window.
template<convolution_walk... Walk>
struct convolution_along : convolution_steps {
  static constexpr convolution_along plan(task_loops const& l, loop_extents const& e) {
    constexpr convolution_walk walk[]{Walk...};
    return detail::convolution_of<convolution_along>(walk, l, e);
  }
};

}  // namespace v0
}  // namespace meshtf
