// clamp: the nearest number between two bounds.
#pragma once

#include <meshtf/ops/pointwise/pointwise_function.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct clamp : bent<2, 2> {
  static constexpr char const* name  = "clamp";
  static constexpr algebra::use used = algebra::use::monotone;

  T low;
  T high;
  constexpr clamp(T l, T h) : low(l), high(h) {}
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::max;
    using math::min;
    return min(V(high), max(V(low), x));  // in this order a NaN passes through
  }
  template<class V>
  constexpr V gradient_by_operand(V const& dz, V const& x) const {
    using math::select;
    using math::zero_or_nan;
    return select(x >= V(low), select(x <= V(high), dz, V(0)), zero_or_nan(x));
  }
};

}  // namespace function

/// `low` where x is less, `high` where x is greater, else x; NaN stays NaN. `low` is at most `high`. The
/// gradient is dz where low <= x <= high, as in PyTorch, NaN where x is NaN, else 0.
template<detail::NumberOperand X, Number A, Number B>
constexpr auto clamp(X const& x, A low, B high, std::source_location at = std::source_location::current()) {
  using T = detail::element_in<X>;
  using C = computed<T>;
  static_assert(accepted<detail::use_verdict<function::clamp<C>::used, X>>,
                "meshtf: clamp needs a finished value: write clamp(finish(x), low, high)");
  return detail::pointwise(
      function::clamp<C>{static_cast<C>(static_cast<T>(low)), static_cast<C>(static_cast<T>(high))}, x, at);
}

MESHTF_POINTWISE_OF(clamp)

}  // namespace v0
}  // namespace meshtf
