// Windows as a program names them: along which dimension, how large, and how far apart.
#pragma once

#include <type_traits>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// From one window to the next there are `Step` elements.
template<extent Step>
struct stride {
  static constexpr extent step = Step;
};

/// From one element of a window to its next there are `Step` elements.
template<extent Step>
struct dilation {
  static constexpr extent step = Step;
};

/// All elements of a window are there: nothing is added at the ends of the dimension.
struct valid {};

/// The number of zeros that are added before and after the dimension.
template<extent Before, extent After = Before>
struct padding {
  static constexpr extent before = Before;
  static constexpr extent after  = After;
};

/// The numbers of a window. Unless it is `valid` or has its `padding`, zeros are added at both ends, as many
/// after as before or one more, so that there are ceil(size / stride) windows: TensorFlow's "SAME".
struct window_rule {
  extent step     = 1;
  extent dilation = 1;
  bool same       = true;
  // zeros, if it is not the same
  extent ahead  = 0;
  extent behind = 0;

  /// Elements from the first of a window to its last.
  constexpr extent reach(extent taps) const { return (taps - 1) * dilation + 1; }
  /// Windows of `taps` elements of a dimension of `size`.
  constexpr extent windows(extent size, extent taps) const {
    if (same) return (size + step - 1) / step;
    extent const last_start = size + ahead + behind - reach(taps);
    return last_start < 0 ? 0 : last_start / step + 1;
  }
  /// Zeros before the dimension.
  constexpr extent before(extent size, extent taps) const {
    if (!same) return ahead;
    extent const zeros = (windows(size, taps) - 1) * step + reach(taps) - size;
    return zeros > 0 ? zeros / 2 : 0;
  }
  /// Elements of the dimension in window `i`: fewer than `taps` at its ends.
  constexpr extent elements(extent size, extent taps, extent i) const {
    extent const first = i * step - before(size, taps);  // below 0: its distance to the dimension
    extent const begin = first < 0 ? (dilation - 1 - first) / dilation : 0;
    extent const left  = size - first;
    extent const end   = left <= 0 ? 0 : (left + dilation - 1) / dilation;
    extent const n     = (end < taps ? end : taps) - begin;
    return n < 0 ? 0 : n;
  }
  /// The fewest of all windows. They are at the ends.
  constexpr extent min_elements(extent size, extent taps) const {
    extent smallest = taps;
    for (extent i = 0, n = windows(size, taps); i < n; ++i)
      if (extent const here = elements(size, taps, i); here < smallest) smallest = here;
    return smallest;
  }
};

namespace detail {

template<extent N>
constexpr void tell(window_rule& w, std::type_identity<stride<N>>) {
  w.step = N;
}
template<extent N>
constexpr void tell(window_rule& w, std::type_identity<dilation<N>>) {
  w.dilation = N;
}
constexpr void tell(window_rule& w, std::type_identity<valid>) { w.same = false; }
template<extent Before, extent After>
constexpr void tell(window_rule& w, std::type_identity<padding<Before, After>>) {
  w.same   = false;
  w.ahead  = Before;
  w.behind = After;
}
template<Dimension D>
constexpr void tell(window_rule&, std::type_identity<D>) {}

template<class D, class... How>
struct dim_made : std::type_identity<D> {};
template<class D, class First, class... How>
struct dim_made<D, First, How...>
    : std::conditional_t<Dimension<First>, std::type_identity<First>, dim_made<D, How...>> {};

}  // namespace detail

/// Windows along `D` of as many elements as `Kernel` has. `How` may have the dimension that they make, of
/// which each window is one index (if it is not named, they make `D` again), and `stride<N>`, `dilation<N>`,
/// and `valid` or `padding<Before, After>`.
///
///     window<height, kernel>                                  // as many windows as rows
///     window<height, kernel, half_height, stride<2>, valid>   // floor((height - kernel) / 2) + 1 of them
template<Dimension D, Dimension Kernel, class... How>
struct window {
  using along  = D;
  using kernel = Kernel;
  using made   = typename detail::dim_made<D, How...>::type;

  static constexpr window_rule rule = [] {
    window_rule w;
    (detail::tell(w, std::type_identity<How>{}), ...);
    return w;
  }();
};

namespace detail {

template<class W>
inline constexpr bool is_window = false;
template<class D, class Kernel, class... How>
inline constexpr bool is_window<window<D, Kernel, How...>> = true;

}  // namespace detail

}  // namespace v0
}  // namespace meshtf
