// Windows of a tensor: what the operations on windows have in common.
#pragma once

#include <meshtf/plan/window_plan.hpp>
#include <meshtf/tensor/haloed.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// `x` with the halos that the windows of `Plan` need, and `beyond` outside of it.
template<class Plan, int I = 0, class X>
constexpr auto with_halos(X const& x, typename X::element_type beyond = {}) {
  if constexpr (I == Plan::dims) {
    return x;
  } else {
    using way = typename Plan::template at<I>;
    if constexpr (!way::widens) return with_halos<Plan, I + 1>(x, beyond);
    else
      return with_halos<Plan, I + 1>(
          with_halo<typename way::along, way::reach.before, way::reach.after>(x, beyond), beyond);
  }
}
/// The backward pass.
template<class Plan, int I = Plan::dims, class X>
constexpr auto without_halos(X const& x) {
  if constexpr (I == 0) {
    return x;
  } else {
    using way = typename Plan::template at<I - 1>;
    if constexpr (!way::widens) return without_halos<Plan, I - 1>(x);
    else
      return without_halos<Plan, I - 1>(
          without_halo<typename way::along, way::reach.before, way::reach.after>(x));
  }
}

/// The windows of a tensor that has its halos.
template<class Plan, class T, class L, class... X>
constexpr auto windows_of(tensor<T, L, X...> const& x) {
  auto z = tensor_of<T, L, typename Plan::windows>::uninitialised(x.machine());
  x.machine().run(task::take_windows<T, typename Plan::steps>{}, Plan::copies, x.data(), z.data());
  return z;
}

/// How windows are copied out and joined under `L`. The search has another way, since the dimensions that
/// they walk along may be split or whole (search/undecided_windows.hpp).
template<class L>
struct windows_under {
  template<class Plan, class X>
  static constexpr auto taken(X const& x, typename X::element_type beyond) {
    return windows_of<Plan>(with_halos<Plan>(x, beyond));
  }
  template<class Plan, class Z>
  static constexpr auto joined(Z const& windows) {
    using T = typename Z::element_type;
    tensor_of<T, typename Z::layout_type, typename Plan::wide> x{windows.machine()};
    windows.machine().run(task::add_windows<T, typename Plan::steps>{}, Plan::copies, windows.data(),
                          x.data());
    return without_halos<Plan>(x);
  }
};

/// The windows of `x`; `beyond` where the dimension has no elements.
template<class Plan, class T, class L, class... X>
constexpr auto all_windows(tensor<T, L, X...> const& x, T beyond) {
  return windows_under<actual<L>>::template taken<Plan>(x, beyond);
}

/// Windows added to the elements that they came from, and the halos sent back.
template<class Plan, class T, class L, class... Z>
constexpr auto joined_windows(tensor<T, L, Z...> const& windows) {
  return windows_under<actual<L>>::template joined<Plan>(windows);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
