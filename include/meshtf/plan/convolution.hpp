// The tasks of a convolution as libraries know it, and which convolutions they are.
#pragma once

#include <meshtf/plan/convolution_steps.hpp>
#include <meshtf/plan/window_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace task {

/// What the three tasks of a convolution have in common.
template<Element T, bool ToFilter = false>
struct of_convolution {
  using scratch_type = T;
  static constexpr extent scratch(convolution_steps const& s) { return s.scratch(ToFilter); }
  static constexpr meshtf::work work(convolution_steps const& s) {
    return {.kind  = "convolution",
            .flops = s.flops(),
            .bytes = s.moved() * extent{sizeof(T)},
            .m     = s.batch * s.pixels(),
            .n     = s.out,
            .k     = s.all_taps() * s.in};
  }
};

/// The convolution. Arrays: x, the filter, z.
template<Element T>
struct convolved : of_convolution<T> {
  void compute(convolution_steps const&, place_in_mesh const&, T const* x, T const* filter, T* z,
               T* scratch) const;
};
/// What it gives back to x. Arrays: z, the filter, x.
template<Element T>
struct convolved_to_input : of_convolution<T> {
  void compute(convolution_steps const&, place_in_mesh const&, T const* z, T const* filter, T* x,
               T* scratch) const;
};
/// What it gives back to the filter. Arrays: x, z, the filter.
template<Element T>
struct convolved_to_filter : of_convolution<T, true> {
  void compute(convolution_steps const&, place_in_mesh const&, T const* x, T const* z, T* filter,
               T* scratch) const;
};

template<template<class> class Way, Element T, class Steps>
struct convolve : Way<T> {
  using steps_type = Steps;
};

}  // namespace task

namespace detail {

/// Which part a dimension of x has in a convolution: batch, those of space in the order of the windows, a
/// group of channels, the channels of a group.
template<class D, class Filter, class Out, class... W>
consteval int part_in_convolution() {
  int place = 1;
  if (((std::is_same_v<D, typename W::along> || (++place, false)) || ...)) return place;
  if constexpr (!Filter::template has<D>) return 0;
  else return Out::template has<D> ? 10 : 11;
}

/// Whether libraries know such a convolution: batch, space, one group, channels, in this order.
template<class Filter, class Out, class... W, class... X>
consteval bool is_order_of_images(shape<X...>) {
  int last   = 0;
  int groups = 0;
  for (int part : {part_in_convolution<X, Filter, Out, W...>()...}) {
    if (part < last) return false;
    if (part == 10) ++groups;
    last = part;
  }
  return groups <= 1;
}

/// `S` where each dimension that windows walk along, and that is split, has the halo that they need.
template<class S, class... U>
struct seen_shape : std::type_identity<S> {};
template<class S, class First, class... Rest>
struct seen_shape<S, First, Rest...>
    : seen_shape<std::conditional_t<(First::in.parts > 1),
                                    replaced<S, typename First::along, shape<typename First::wide>>, S>,
                 Rest...> {};

/// How the windows of a convolution walk, if those of the array with its halo walk so. `in` is the dimension.
constexpr convolution_walk convolution_walk_of(window_rule const& w, extent taps, placed const& in,
                                               window_walk const& walk) {
  bool const split = in.parts > 1;
  return {.step     = w.step,
          .dilation = w.dilation,
          .before   = w.before(in.size, taps),
          .start    = split ? walk.start : 0,
          .shift    = split ? walk.shift : 0,
          .whole    = !split};
}

template<class U>
inline constexpr convolution_walk walk_of =
    U::sound ? convolution_walk_of(U::rule, U::taps, U::in, U::walk) : convolution_walk{};
template<class U>
using seen_dim = std::conditional_t<(U::in.parts > 1), typename U::wide, typename U::along>;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
