// What operations on windows will do, decided before they run: where windows begin, what they need of
// neighbouring parts, and copies of them.
#pragma once

#include <tuple>
#include <type_traits>

#include <meshtf/plan/halo_plan.hpp>
#include <meshtf/plan/window.hpp>

namespace meshtf {
inline namespace v0 {

/// Elements of other parts that the windows of some part need, before it and after it.
struct window_halo {
  extent before = 0;
  extent after  = 0;
};

/// `in` is the dimension, `made` the one that its windows make; both have as many parts.
constexpr window_halo halo_of(window_rule const& w, extent taps, placed const& in, placed const& made) {
  window_halo halo;
  extent const zeros = w.before(in.size, taps);
  for (extent part = 0; part < in.parts; ++part) {
    extent const n = made.local_extent(part);
    if (n == 0) break;
    extent const first  = part * made.allocated_extent() * w.step - zeros;
    extent const last   = first + (n - 1) * w.step + w.reach(taps) - 1;
    extent const before = part * in.allocated_extent() - first;
    extent const after  = last + 1 - (part + 1) * in.allocated_extent();
    if (before > halo.before) halo.before = before;
    if (after > halo.after) halo.after = after;
  }
  return halo;
}

// ---- verdicts

/// From one window, or one of its elements, to the next there is at least one element; `stride` and
/// `dilation` of `Window` say fewer, or its padding has fewer than none.
template<class Window>
struct window_number_is_too_small {};

/// A window of `Kernel` reaches over `Reach` elements, and `Dim` has only `Size`, with the zeros that were
/// added to it.
template<class Kernel, extent Reach, class Dim, extent Size>
struct window_is_larger_than_dim {};

/// There are `Windows` windows, and `Made` has another size: declare it as `dim<Windows>`. (A window that
/// names no dimension which it makes makes the dimension that it works along.)
template<class Made, extent Windows>
struct windows_make_another_size {};

/// `Dim` and the dimension of its windows, `Made`, are one loop, so they must be split alike, but they are
/// split over `Axes` and `Others`.
template<class Dim, class Axes, class Made, class Others>
struct windows_are_split_differently {};

/// A window is needed as a whole, and its dimension `Kernel` is split over `Axes`.
template<class Kernel, class Axes>
struct kernel_dim_is_split {};

// ---- steps

/// How windows walk along one dimension, in elements of what a process has of it: the first one begins at
/// `start`, and in each further part `shift` later.
struct window_walk {
  extent step     = 1;
  extent dilation = 1;
  extent start    = 0;
  extent shift    = 0;
};

/// Copies between an array and its windows.
struct window_steps {
  nest_steps copy{};  // all elements of all windows: the array, the windows
  nest_steps tap{};   // one element of all windows: the array, the windows, the array
  int dims = 0;       // that windows walk along
  small_array<extent, 3> taps{1, 1, 1};
  small_array<small_array<extent, 3>, 2> tap_stride{};  // in the array and in the windows
  // in elements of the array
  small_array<extent, 3> start{};
  small_array<extent, 3> shift{};
  small_array<axis_list, 3> over{};

  // of the search for a layout, since what is sent depends on whether the dimensions are split
  static constexpr bool needs_whole = true;

  /// Where the first window of a process begins in its array.
  constexpr extent first(place_in_mesh const& here) const {
    extent position = 0;
    for (int i = 0; i < dims; ++i) {
      position += start[i];
      if (shift[i] != 0) position += shift[i] * here.part_of(over[i]);
    }
    return position;
  }
};

namespace detail {

/// How windows of `taps` elements walk through an array that has this halo; `in` and `made` as of `halo_of`.
constexpr window_walk window_walk_of(window_rule const& w, extent taps, placed const& in, placed const& made,
                                     window_halo const& halo) {
  return {.step     = w.step,
          .dilation = w.dilation,
          .start    = halo.before - w.before(in.size, taps),
          .shift    = made.allocated_extent() * w.step - in.allocated_extent()};
}

/// Steps whose windows walk so.
template<class Steps, std::size_t N>
constexpr Steps windows_walking(window_walk const (&walk)[N], task_loops const& l, loop_extents const& e) {
  constexpr int n = int{N};
  Steps s;
  s.dims             = n;
  auto const array   = strides_of(l.operand[0], e.allocated_extents());
  auto const windows = strides_of(l.operand[1], e.allocated_extents());
  nest_steps copy{.operands = 2};
  nest_steps tap{.operands = 3};
  for (int d : l.operand[1]) {
    extent in_array = array[d];
    bool is_tap     = false;
    for (int i = 0; i < n; ++i) {
      extent const along = array[l.along[i]];
      if (d == l.along[n + i]) in_array = along * walk[i].step;
      if (d != l.along[2 * n + i]) continue;
      is_tap             = true;
      in_array           = along * walk[i].dilation;
      s.taps[i]          = e.local[d];
      s.tap_stride[0][i] = in_array;
      s.tap_stride[1][i] = windows[d];
    }
    copy.stride[0][copy.rank] = in_array;
    copy.stride[1][copy.rank] = windows[d];
    copy.size[copy.rank++]    = e.local[d];
    if (is_tap) continue;
    tap.stride[0][tap.rank] = tap.stride[2][tap.rank] = in_array;
    tap.stride[1][tap.rank]                           = windows[d];
    tap.size[tap.rank++]                              = e.local[d];
  }
  for (int i = 0; i < n; ++i) {
    s.start[i] = walk[i].start * array[l.along[i]];
    s.shift[i] = walk[i].shift * array[l.along[i]];
    s.over[i]  = l.dim[l.along[i]].over;
  }
  s.copy = collapsed(copy), s.tap = collapsed(tap);
  return s;
}

}  // namespace detail

/// Arrays: the array and the windows. The steps ask for the dimensions of the array that the windows walk
/// along, those that they make, and those of a window.
template<window_walk... Walk>
struct windows_along : window_steps {
  static constexpr windows_along plan(task_loops const& l, loop_extents const& e) {
    constexpr window_walk walk[]{Walk...};
    return detail::windows_walking<windows_along>(walk, l, e);
  }
};

namespace task {

/// Copies out all windows. Arrays: the array, the windows.
template<Element T>
struct windows_taken {
  static constexpr meshtf::work work(window_steps const& s) {
    return {.kind = "copy", .bytes = 2 * s.copy.iterations * extent{sizeof(T)}};
  }
  void compute(window_steps const&, place_in_mesh const&, T const* x, T* windows) const;
};
template<Element T, class Steps>
struct take_windows : windows_taken<T> {
  using steps_type = Steps;
};

/// Adds all windows to the elements that they came from. Arrays: the windows, the array.
template<Element T>
struct windows_added {
  static constexpr meshtf::work work(window_steps const& s) {
    return {.kind        = "elementwise",
            .elementwise = s.copy.iterations,
            .bytes       = 3 * s.copy.iterations * extent{sizeof(T)}};
  }
  void compute(window_steps const&, place_in_mesh const&, T const* windows, T* x) const;
};
template<Element T, class Steps>
struct add_windows : windows_added<T> {
  using steps_type = Steps;
};

}  // namespace task

// ---- the plan

namespace detail {

/// One window under a layout.
template<class L, class W>
struct window_under {
  using along  = typename W::along;
  using made   = typename W::made;
  using kernel = typename W::kernel;

  static constexpr window_rule rule = W::rule;
  static constexpr extent taps      = kernel::size;
  static constexpr placed in        = always_placed<L, along>;
  static constexpr placed out       = always_placed<L, made>;
  static constexpr bool sound    = rule.step > 0 && rule.dilation > 0 && rule.ahead >= 0 && rule.behind >= 0;
  static constexpr extent count  = sound ? rule.windows(along::size, taps) : 0;
  static constexpr bool is_alike = in.parts == out.parts && in.over == out.over;
  static constexpr window_halo reach = sound && is_alike ? halo_of(rule, taps, in, out) : window_halo{};
  static constexpr bool widens       = reach.before > 0 || reach.after > 0;
  static constexpr window_walk walk  = sound ? window_walk_of(rule, taps, in, out, reach) : window_walk{};
  using wide = std::conditional_t<widens, haloed<along, reach.before, reach.after, in.parts>, along>;

  static constexpr auto examined() {
    if constexpr (CountedDimension<along>) return haloed_dim_is_counted<along>{};
    else if constexpr (CountedDimension<made>) return haloed_dim_is_counted<made>{};
    else if constexpr (!sound) return window_number_is_too_small<W>{};
    else if constexpr (count < 1)
      return window_is_larger_than_dim<kernel, rule.reach(taps), along,
                                       along::size + rule.ahead + rule.behind>{};
    else if constexpr (count != made::size) return windows_make_another_size<made, count>{};
    else if constexpr (!may_be_whole<L, kernel>) return kernel_dim_is_split<kernel, axes_of<L, kernel>>{};
    else if constexpr (!is_alike)
      return windows_are_split_differently<along, axes_of<L, along>, made, axes_of<L, made>>{};
    else return halo_objection<L, along, (reach.before > reach.after ? reach.before : reach.after)>();
  }
  using verdict = decltype(examined());
};

template<class X, class... W>
struct made_shape : std::type_identity<X> {};
template<class X, class First, class... Rest>
struct made_shape<X, First, Rest...>
    : made_shape<replaced<X, typename First::along, shape<typename First::made>>, Rest...> {};

template<class X, class... W>
struct unmade_shape : std::type_identity<X> {};
template<class X, class First, class... Rest>
struct unmade_shape<X, First, Rest...>
    : unmade_shape<replaced<X, typename First::made, shape<typename First::along>>, Rest...> {};

template<class S>
struct last_dim;
template<class... D>
struct last_dim<shape<D...>> : std::tuple_element<sizeof...(D) - 1, std::tuple<D...>> {};

/// The shape of the windows whose own dimensions are `Kernels`: these stand after the last dimension that is
/// walked along, so that they and the channels after them are one row. If that is the last dimension of all,
/// they stand before the first, as the channels do.
template<class Made, class First, class Last, class Kernels>
struct shape_with_kernels;
template<class Made, class First, class Last, class... K>
struct shape_with_kernels<Made, First, Last, shape<K...>>
    : std::type_identity<std::conditional_t<std::is_same_v<typename last_dim<Made>::type, Last>,
                                            replaced<Made, First, shape<K..., First>>,
                                            replaced<Made, Last, shape<Last, K...>>>> {};

/// `S` where each dimension that windows walk along has the halo that they need.
template<class S, class... U>
struct wide_shape : std::type_identity<S> {};
template<class S, class First, class... Rest>
struct wide_shape<S, First, Rest...>
    : wide_shape<replaced<S, typename First::along, shape<typename First::wide>>, Rest...> {};

}  // namespace detail

/// The windows `W...` of a tensor of shape `X`, which has all dimensions that they walk along.
template<Layout L, class X, class... W>
struct window_plan {
  static constexpr int dims = int{sizeof...(W)};
  static_assert(dims >= 1 && dims <= 3, "meshtf: there are windows along one, two or three dimensions");

  using array = X;
  template<int I>
  using at      = std::tuple_element_t<std::size_t{I}, std::tuple<detail::window_under<L, W>...>>;
  using first   = at<0>;
  using last    = at<dims - 1>;
  using kernels = shape<typename W::kernel...>;
  using made    = typename detail::made_shape<X, W...>::type;
  using windows =
      typename detail::shape_with_kernels<made, typename first::made, typename last::made, kernels>::type;
  using wide  = typename detail::wide_shape<X, detail::window_under<L, W>...>::type;
  using loops = united<windows, wide>;
  using steps = windows_along<detail::window_under<L, W>::walk...>;

  static constexpr bool exchanges =
      ((detail::window_under<L, W>::widens && !detail::may_be_whole<L, typename W::along>) || ...);

  static constexpr steps_under<L, steps, loops> copies =
      plan_steps<L, steps, loops, typename detail::window_under<L, W>::wide..., typename W::made...,
                 typename W::kernel...>(arrays_of<wide, windows>{});
};

namespace detail {

template<class L, class X, class... W>
struct windows_objection
    : std::type_identity<
          first_objection<typename window_under<L, W>::verdict..., placement_verdict_of<L, X>,
                          placement_verdict_of<L, typename window_plan<L, X, W...>::windows>>> {};
template<class L, class X, class... W>
  requires(!(X::template has<typename W::along> && ...))
struct windows_objection<L, X, W...> : std::type_identity<dims_are_in<X, typename W::along...>> {};

}  // namespace detail

/// `legal`, or the objection to the windows `W...` of a tensor of shape `X`.
template<Layout L, class X, class... W>
using windows_verdict = typename detail::windows_objection<L, X, W...>::type;

}  // namespace v0
}  // namespace meshtf
