// cumprod: running products along a dimension.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/plan/cumsum_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// For each element the product of all elements up to it along `Along`, itself included; of the same shape and placement as `x`.
///
///     auto const alive = cumprod<length>(goes_on, {.exclusive = true});   // also .reverse = true: from the last element on
///
/// `Along` is whole under the layout. Local; products of floats are kept in double. Gradient: right also where elements are 0, and it owes nothing.
template<Dimension Along, detail::Operand X>
constexpr auto cumprod(X const& operand, running which = {}, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using plan    = cumsum_plan<wet<L>, detail::shape_in<X>, Along>;
  using whole   = detail::use_verdict<algebra::use::bent, X>;
  using verdict = typename plan::verdict;
  static_assert(accepted<whole>, "meshtf: cumprod is not linear: cumprod<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: cumprod can't work along this dimension");
  static_assert(NumberElement<T>, "meshtf: bools are not multiplied: cumprod<...>(cast<int>(x))");
  if constexpr (!accepted<first_objection<whole, verdict>> || !NumberElement<T>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::entered(operand);
    x.machine().enter("cumprod", at);
    return detail::in_elements<T>(cumprod<Along>(detail::widened(x), which, at));
  } else {
    auto const& x = detail::entered(operand);
    auto& m       = x.machine();
    m.enter("cumprod", at);
    auto z = tensor_of<T, L, detail::shape_in<X>>::uninitialised(m);
    m.run(task::cumprod<T>{which.reverse, which.exclusive}, plan::lines, x.data(), z.data());
    if constexpr (FloatingElement<T>)
      if (detail::wants_gradient(x))
        detail::record(z, [x = detail::keep(x), which](auto const& dz) {
          auto dx = tensor_of<T, L, detail::shape_in<X>>::uninitialised(dz.machine());
          dz.machine().run(task::cumprod_gradient<T>{which.reverse, which.exclusive}, plan::lines, x.value().data(), dz.data(), dx.data());
          detail::contribute(x.target(), dx);
        });
    return z;
  }
}

}  // namespace v0
}  // namespace meshtf
