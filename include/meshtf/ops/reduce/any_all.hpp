// any and all over dimensions: an element is true if it is not 0.
#pragma once

#include <meshtf/ops/reduce/max.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// 1 where x is not 0, which NaN is not, else 0.
struct truth : of_elements<1> {
  template<class V>
  constexpr V operator()(V const& x) const {
    using math::select;
    return select(x == V(0), V(0), V(1));
  }
};

}  // namespace function

namespace detail {

/// Whether one element, or each, over `Along...` is true.
template<reduction Op, class Verdict, class... Along, class X>
constexpr auto true_along(char const* name, std::source_location at, X const& operand) {
  using in = shape_in<X>;
  if constexpr (!accepted<Verdict>) {
    return rejected{};
  } else {
    auto const& x = local_terms(operand);
    x.machine().begin_operation(name, at);
    return joined<Op, without<in, worked_along<in, Along...>>>(function::truth{}, x);
  }
}

}  // namespace detail

/// Each gives 1 where it is true and 0 where it is not, in the operand's element type, as comparisons do, so
/// it takes their results and tensors of bool. NaN is true. Along a dimension without elements, `any` is
/// false and `all` is true. Where one of the dimensions is split, an all-reduce of the result over its axes
/// joins what the processes found. No gradient.

/// Whether at least one element over `Along...` is true; over all dimensions if none is named.
template<Dimension... Along, detail::Operand X>
constexpr auto any(X const& x, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along...>;
  static_assert(accepted<whole>, "meshtf: any needs a finished value: write any<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: any can't work along these dimensions");
  return detail::true_along<reduction::max, first_objection<whole, verdict>, Along...>("any", at, x);
}

/// Whether all elements over `Along...` are true; over all dimensions if none is named.
template<Dimension... Along, detail::Operand X>
constexpr auto all(X const& x, std::source_location at = std::source_location::current()) {
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, detail::shape_in<X>, Along...>;
  static_assert(accepted<whole>, "meshtf: all needs a finished value: write all<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: all can't work along these dimensions");
  return detail::true_along<reduction::min, first_objection<whole, verdict>, Along...>("all", at, x);
}

MESHTF_ACCEPT_REJECTED(any)
MESHTF_ACCEPT_REJECTED(all)

}  // namespace v0
}  // namespace meshtf
