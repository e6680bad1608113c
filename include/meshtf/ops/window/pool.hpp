// max_pool and avg_pool: the largest element, or the mean, of each window.
#pragma once

#include <limits>
#include <source_location>

#include <meshtf/ops/index/iota.hpp>
#include <meshtf/ops/pointwise/arithmetic.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/window/windows.hpp>
#include <meshtf/plan/pool_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// One over the number of elements in window `i`.
template<class T>
struct share_in_window : of_numbers<1> {
  window_rule rule{};
  extent size = 1;
  extent taps = 1;

  constexpr T operator()(auto const& i) const {
    return T(1) / static_cast<T>(rule.elements(size, taps, static_cast<extent>(i)));
  }
};

}  // namespace function

namespace detail {

/// No element is less.
template<class T>
constexpr T lowest_value() {
  if constexpr (FloatingElement<T>) return static_cast<T>(-std::numeric_limits<computed<T>>::infinity());
  else return std::numeric_limits<T>::lowest();
}

/// Sums of windows, divided by the number of elements in each if the windows are not all full.
template<class First, class... Rest, class T, class L, class... Z>
constexpr tensor<T, L, Z...> shared_out(tensor<T, L, Z...> const& z) {
  if constexpr (sizeof...(Rest) > 0 && windows_are_full<First>) {
    return shared_out<Rest...>(z);
  } else if constexpr (windows_are_full<First>) {
    return z;
  } else {
    using made       = typename First::made;
    using share      = function::share_in_window<computed<T>>;
    auto const count = indices<int, L, made>(z.machine());
    auto const w =
        each<T, shape<made>>(share{{}, First::rule, First::along::size, First::kernel::size}, count);
    if constexpr (sizeof...(Rest) > 0) return shared_out<Rest...>(z * w);
    else return z * w;
  }
}

template<class... W>
inline constexpr extent full_elements = ((windows_are_full<W> ? W::kernel::size : extent{1}) * ...);

}  // namespace detail

/// The largest element of each window; elements beyond the dimension do not count.
///
///     auto z = max_pool<window<height, two, half_height, stride<2>>,
///                       window<width, also_two, half_width, stride<2>>>(x);
///
/// `window` says size, stride, dilation and ends, and two windows need two dimensions of their own. Where a
/// dimension that they walk along is split, halos are exchanged as by `halo`. Gradient: dz goes to every
/// element that equals the maximum of its window, as `max` has it. The maximum over all of a dimension is
/// `max<height, width>(x)`. Errors: `pool_verdict`. Source: Mesh TensorFlow has windows without overlap, of
/// whole dimensions.
template<class... W, detail::Operand X>
  requires(detail::is_window<W> && ...)
constexpr auto max_pool(X const& operand, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::maximum, X>;
  using verdict = pool_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, W...>;
  static_assert(accepted<whole>, "meshtf: max_pool needs a finished value: write max_pool<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: max_pool can't take these windows");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    using T            = detail::element_in<X>;
    auto const windows = detail::recorded_windows<W...>("max_pool", at, detail::local_terms(operand),
                                                        detail::lowest_value<T>());
    using seen         = typename std::remove_cvref_t<decltype(windows)>::shape_type;
    return detail::extreme<reduction::max, without<seen, shape<typename W::kernel...>>>("max_pool", at,
                                                                                        windows);
  }
}

/// The mean of each window; elements beyond the dimension do not count, as in TensorFlow (in PyTorch, unless
/// told otherwise, they count as zeros).
///
/// Windows and messages as of `max_pool`. Linear; of a partial sum, finish it first. The mean over all of a
/// dimension is `mean<height, width>(x)`.
/// Errors: `pool_verdict`.
template<class... W, detail::FloatingOperand X>
  requires(detail::is_window<W> && ...)
constexpr auto avg_pool(X const& operand, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::nonlinear, X>;
  using verdict = pool_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, W...>;
  static_assert(accepted<whole>, "meshtf: avg_pool needs a finished value: write avg_pool<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: avg_pool can't take these windows");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    using T = computed<detail::element_in<X>>;
    auto const windows =
        detail::recorded_windows<W...>("avg_pool", at, detail::local_terms(operand), detail::element_in<X>{});
    using taken = shape<typename W::kernel...>;
    function::scaled<T> const share{T{1} / static_cast<T>(detail::full_elements<W...>)};
    auto const sums = detail::summed<taken>("avg_pool", at, share, windows);
    return detail::shared_out<W...>(sums);
  }
}

MESHTF_ACCEPT_REJECTED(max_pool)
MESHTF_ACCEPT_REJECTED(avg_pool)

}  // namespace v0
}  // namespace meshtf
