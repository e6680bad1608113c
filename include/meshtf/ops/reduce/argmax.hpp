// argmax: the index of the largest element along a dimension.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// For each element of the other dimensions, the index of the largest element along `Along`, or of the first
/// of several.
///
/// Result: int, so `Along` has at most 2^31 elements. Where `Along` is split, two all-reduces of one number
/// for each remaining element: one joins the maxima, the other takes the smallest index that has the maximum.
/// No gradient.
template<Dimension Along, detail::Operand X>
constexpr auto argmax(X const& operand, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using plan    = argmax_plan<actual<L>, detail::shape_in<X>, Along>;
  using whole   = detail::use_verdict<algebra::use::compared, X>;
  using verdict = typename plan::verdict;
  static_assert(accepted<whole>, "meshtf: argmax needs a finished value: write argmax<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: argmax can't work along this dimension");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("argmax", at);
    return argmax<Along>(detail::each<computed<T>, detail::shape_in<X>>(function::identity{}, x), at);
  } else {
    using row     = typename plan::result;
    auto const& x = detail::local_terms(operand);
    auto& m       = x.machine();
    m.begin_operation("argmax", at);

    auto z    = tensor_of<std::int32_t, L, row>::uninitialised(m);
    auto best = tensor_of<T, L, row>::uninitialised(m);
    m.run(task::argmax<T>{}, plan::lines, x.data(), best.data(), z.data());
    m.because(&detail::reason_to_sum<actual<L>, detail::shape_in<X>>);
    if constexpr (plan::finished_over != 0)
      m.if_joined(
          plan::finished_over,
          [&] {
            auto peak = detail::copied(best);
            m.all_reduce(reduction::max, peak.data(), peak.size, plan::finished_over);
            m.run(task::forget_smaller<T>{}, shard_plan<actual<L>, row>, std::as_const(best).data(),
                  std::as_const(peak).data(), z.data());
            m.because(&detail::reason_to_take_the_first);
            m.all_reduce(reduction::min, z.data(), z.size, plan::finished_over);
          },
          [] {});
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(argmax)

}  // namespace v0
}  // namespace meshtf
