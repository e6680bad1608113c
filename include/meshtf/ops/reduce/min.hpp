// min over dimensions.
#pragma once

#include <meshtf/ops/reduce/max.hpp>

namespace meshtf {
inline namespace v0 {

/// The smallest element over `Along...`; over all dimensions if none is named. NaN if one is NaN.
///
/// Where one of them is split, an all-reduce of the result over its axes joins the processes' minima.
/// Gradient: dz goes to every element that equals the minimum, and of a NaN is NaN, as that of `max`; it
/// needs no reduction.
template<Dimension... Along, detail::Operand X>
constexpr auto min(X const& operand, std::source_location at = std::source_location::current()) {
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::minimum, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: min needs a finished value: write min<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: min can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) return detail::rejected{};
  else
    return detail::extreme<reduction::min, without<in, detail::worked_along<in, Along...>>>(
        "min", at, detail::local_terms(operand));
}

MESHTF_ACCEPT_REJECTED(min)

}  // namespace v0
}  // namespace meshtf
