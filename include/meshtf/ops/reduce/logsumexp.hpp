// logsumexp over dimensions: log(sum(exp(x))), without overflow.
#pragma once

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/max.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

/// What is subtracted before exp: the peak, or 0 if it is infinite, so that no difference of infinities is
/// made. A NaN stays one.
template<class V>
constexpr V finite_or_zero(V const& peak) {
  using math::select;
  return select(peak - peak == V(0), peak, select(peak == peak, V(0), peak));
}

struct exp_below_peak : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& x, V const& peak) const {
    using math::exp;
    return exp(x - finite_or_zero(peak));
  }
};
struct log_above_peak : of_elements<3> {
  template<class V>
  constexpr V operator()(V const& total, V const& peak) const {
    using math::log;
    return log(total) + finite_or_zero(peak);
  }
};
struct logsumexp_gradient : of_elements<4> {
  template<class V>
  constexpr V operator()(V const& dz, V const& x, V const& z) const {
    return dz * exp_below_peak{}(x, z);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM(2, function::exp_below_peak)
MESHTF_COMPILE_MAP(2, function::log_above_peak)
MESHTF_COMPILE_MAP(3, function::logsumexp_gradient)

/// log(sum(exp(x))) over `Along...`; over all dimensions if none is named. It neither overflows nor loses
/// digits: the maximum is subtracted first. Of elements that are all -inf it is -inf, and their gradient is
/// 0.
///
/// Where one of the dimensions is split, two all-reduces of the result over its axes join the processes'
/// maxima and sums. Gradient: dz * exp(x - z), which sends nothing and needs no reduction.
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto logsumexp(X const& operand, std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using in      = detail::shape_in<X>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = reduce_verdict<actual<detail::layout_in<X>>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: logsumexp needs a finished value: write logsumexp<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: logsumexp can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("logsumexp", at);
    return detail::in_elements<T>(logsumexp<Along...>(detail::widened(x), at));
  } else {
    using row     = without<in, detail::worked_along<in, Along...>>;
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("logsumexp", at);
    auto const peak = detail::maximum<row>(x);
    auto const total =
        detail::finished(detail::reduced<reduction::sum, row>(function::exp_below_peak{}, x, peak));
    auto z = detail::each<T, row>(function::log_above_peak{}, total, peak);
    if (detail::wants_gradient(x))
      detail::record(z, [x = detail::keep(x), z = detail::keep(z)](auto const& dz) {
        detail::contribute(x.target(),
                           detail::each<T, in>(function::logsumexp_gradient{}, dz, x.value(), z.value()));
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(logsumexp)

}  // namespace v0
}  // namespace meshtf
