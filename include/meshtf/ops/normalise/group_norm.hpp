// group_norm: groups of elements to mean 0 and deviation 1, along dimensions that may be split.
#pragma once

#include <meshtf/ops/normalise/standardised.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance along all of `Along...`
/// together (that of all elements, not an estimate). `scale` and `bias` have the same dimensions, any of
/// those of `x`.
///
///     auto z = group_norm<height, width, member>(x, scale, bias);   // [batch, height, width, group,
///     member], [group, member]
///
/// Without `member`, each channel is normalised by itself ("instance norm"). Along one dimension,
/// `layer_norm` takes fewer passes over memory. The mean comes first, so no digits are lost where it is
/// large. Where a dimension of `Along...` is split, two all-reduces of one number a group join the parts, and
/// one of two numbers a group in the gradient of `x`. Those of scale and bias are unreduced over the axes
/// that split what they lack. The tape keeps `x`.
/// Errors: `group_norm_verdict`. Source: Wu, He, Group Normalization (2018).
template<Dimension... Along, detail::FloatingOperand X, Tensor S, Tensor B>
constexpr auto group_norm(X const& operand, S const& scale, B const& bias, double epsilon = 1e-5,
                          std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using fit     = detail::scales_fit<X, S, B>;
  using verdict = group_norm_verdict<actual<detail::layout_in<X>>, in, typename S::shape_type,
                                     typename B::shape_type, Along...>;
  static_assert(
      sizeof...(Along) > 0,
      "meshtf: group_norm names the dimensions it works along: group_norm<height, width, member>(x, scale, "
      "bias)");
  static_assert(accepted<whole>,
                "meshtf: group_norm needs a finished value: write group_norm<...>(finish(x), ...)");
  static_assert(accepted<first_objection<fit, verdict>>,
                "meshtf: group_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, fit, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("group_norm", at);
    return detail::in_elements<T>(group_norm<Along...>(detail::widened(x), detail::computed_in(scale),
                                                       detail::computed_in(bias), epsilon, at));
  } else {
    using row     = without<in, shape<Along...>>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("group_norm", at);
    auto const all = detail::statistics<row>(x);
    auto const rstd =
        detail::each<T, row>(function::inverse_deviation<T>{static_cast<T>(epsilon)}, all.variance);
    return detail::standardised<row>(x, all.mean, rstd, scale, bias, all.part);
  }
}

MESHTF_ACCEPT_REJECTED(group_norm)

}  // namespace v0
}  // namespace meshtf
