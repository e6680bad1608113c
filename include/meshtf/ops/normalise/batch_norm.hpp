// batch_norm: every channel to mean 0 and deviation 1 over all other dimensions, which may be split.
#pragma once

#include <meshtf/ops/normalise/standardised.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// What `batch_norm` returns: the result, and the statistics that it was made with. No gradient flows back to
/// these.
template<class Tensor, class Statistics>
struct norm_and_statistics {
  Tensor norm;
  Statistics mean;
  Statistics variance;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over all dimensions of `x`
/// besides `Channels...`.
///
///     auto [z, mean, variance] = batch_norm<channels>(x, scale, bias);   // [batch, height, width,
///     channels], [channels]
///
/// The variance is that of all elements, not an estimate. The mean is computed first, so no digits are lost
/// where it is large. Where another dimension than `Channels...` is split, be it batch or space, two
/// all-reduces of one number a channel join the parts. The gradient of `x` sends one of two numbers a
/// channel: the gradients of scale and bias, which are reduced by it. If `x` needs none, they are unreduced
/// over the axes that split `x`. The tape keeps `x`.
/// Errors: `batch_norm_verdict`. Source: Ioffe, Szegedy, Batch Normalization (2015).
template<Dimension... Channels, detail::FloatingOperand X, Tensor S, Tensor B>
constexpr auto batch_norm(X const& operand, S const& scale, B const& bias, double epsilon = 1e-5,
                          std::source_location at = std::source_location::current()) {
  using T     = detail::element_in<X>;
  using L     = detail::layout_in<X>;
  using row   = shape<Channels...>;
  using whole = detail::use_verdict<algebra::use::normalised, X>;
  using fit   = detail::scales_fit<X, S, B>;
  using verdict =
      batch_norm_verdict<actual<L>, detail::shape_in<X>, row, typename S::shape_type, typename B::shape_type>;
  static_assert(accepted<whole>,
                "meshtf: batch_norm needs a finished value: write batch_norm<...>(finish(x), ...)");
  static_assert(accepted<first_objection<fit, verdict>>,
                "meshtf: batch_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, fit, verdict>>) {
    return norm_and_statistics<detail::rejected, detail::rejected>{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("batch_norm", at);
    auto wide = batch_norm<Channels...>(detail::widened(x), detail::computed_in(scale),
                                        detail::computed_in(bias), epsilon, at);
    return norm_and_statistics<detail::tensor_in<X>, decltype(wide.mean)>{
        detail::in_elements<T>(wide.norm), std::move(wide.mean), std::move(wide.variance)};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("batch_norm", at);
    auto all = detail::statistics<row>(x);
    auto const rstd =
        detail::each<T, row>(function::inverse_deviation<T>{static_cast<T>(epsilon)}, all.variance);
    auto z = detail::standardised<row>(x, all.mean, rstd, scale, bias, all.part);
    return norm_and_statistics<detail::tensor_in<X>, decltype(all.mean)>{std::move(z), std::move(all.mean),
                                                                         std::move(all.variance)};
  }
}

/// The same with statistics that are given, as an evaluation has them: one pass over memory, and nothing is
/// sent. No gradient flows back to them.
template<Dimension... Channels, detail::FloatingOperand X, Tensor S, Tensor B, Tensor Mean, Tensor Variance>
constexpr auto batch_norm(X const& operand, S const& scale, B const& bias, Mean const& mean,
                          Variance const& variance, double epsilon = 1e-5,
                          std::source_location at = std::source_location::current()) {
  using T     = detail::element_in<X>;
  using L     = detail::layout_in<X>;
  using row   = shape<Channels...>;
  using whole = detail::use_verdict<algebra::use::normalised, X>;
  using fit   = detail::scales_fit<X, S, B, Mean, Variance>;
  using verdict =
      batch_norm_verdict<actual<L>, detail::shape_in<X>, row, typename S::shape_type, typename B::shape_type,
                         typename Mean::shape_type, typename Variance::shape_type>;
  static_assert(accepted<whole>,
                "meshtf: batch_norm needs a finished value: write batch_norm<...>(finish(x), ...)");
  static_assert(accepted<first_objection<fit, verdict>>,
                "meshtf: batch_norm: operands don't fit: see accepted");
  if constexpr (!accepted<first_objection<whole, fit, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("batch_norm", at);
    return detail::in_elements<T>(
        batch_norm<Channels...>(detail::widened(x), detail::computed_in(scale), detail::computed_in(bias),
                                detail::computed_in(mean), detail::computed_in(variance), epsilon, at));
  } else {
    using in      = detail::shape_in<X>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("batch_norm", at);
    auto const rstd = detail::each<T, row>(function::inverse_deviation<T>{static_cast<T>(epsilon)}, variance);
    auto const slope = detail::each<T, row>(function::times{}, rstd, scale);
    auto z           = detail::each<T, in>(function::line_about{}, x, mean, slope, bias);
    if (detail::wants_gradient(x, scale, bias))
      detail::record(
          z, [x = detail::keep(x, scale.needs_gradient()), mean = detail::keep(mean, scale.needs_gradient()),
              rstd, slope, scale = scale.without_value(), bias = bias.without_value()](auto const& dz) {
            if (x.needs_gradient()) detail::pull_back(x.target(), 0, function::times{}, dz, slope);
            if (bias.needs_gradient()) detail::pull_back(bias, 0, function::identity{}, dz);
            if (!scale.needs_gradient()) return;
            auto const turns =
                detail::reduced<reduction::sum, row>(function::times_distance{}, dz, x.value(), mean.value());
            detail::contribute(scale, detail::each<T, row>(function::times{}, turns.value, rstd),
                               turns.unreduced, turns.why);
          });
    return z;
  }
}

template<class... Named, class X, class S, class B>
  requires detail::AnyRejected<X, S, B>
constexpr norm_and_statistics<rejected, rejected> batch_norm(X const&, S const&, B const&, double = 0,
                                                             std::source_location = {}) {
  return {};
}
template<class... Named, class X, class S, class B, class Mean, class Variance>
  requires detail::AnyRejected<X, S, B, Mean, Variance>
constexpr rejected batch_norm(X const&, S const&, B const&, Mean const&, Variance const&, double = 0,
                              std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
