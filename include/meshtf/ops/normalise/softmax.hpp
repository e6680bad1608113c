// softmax and log_softmax along dimensions that may be split.
#pragma once

#include <utility>

#include <meshtf/ops/pointwise/cast.hpp>
#include <meshtf/ops/reduce/max.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct exp_of_difference : of_elements<2> {
  constexpr auto operator()(auto const& x, auto const& y) const {
    using math::exp;
    return exp(x - y);
  }
};

struct softmax_gradient : of_elements<2> {
  constexpr auto operator()(auto const& y, auto const& dy, auto const& inner) const {
    return y * (dy - inner);
  }
};

struct log_softmax_gradient : of_elements<3> {
  constexpr auto operator()(auto const& y, auto const& dy, auto const& total) const {
    using math::exp;
    return dy - exp(y) * total;
  }
};

struct log_plus : of_elements<2> {
  constexpr auto operator()(auto const& total, auto const& peak) const {
    using math::log;
    return log(total) + peak;
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM(2, function::exp_of_difference)
MESHTF_COMPILE_MAP(3, function::softmax_gradient)
MESHTF_COMPILE_MAP(3, function::log_softmax_gradient)
MESHTF_COMPILE_MAP(2, function::log_plus)

/// exp(x) / sum(exp(x)) along `Along...`, of the same shape and placement as `x`.
///
/// Subtracting the maximum first keeps finite inputs from overflowing. Where a dimension in `Along...` is
/// split, the maximum and the sum are finished over its axes: two all-reduces of one number for each
/// remaining element. The gradient sends one: dx = y * (dy - sum(dy * y)); it needs no reduction.
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto softmax(X const& operand, std::source_location at = std::source_location::current()) {
  using T  = detail::element_in<X>;
  using L  = detail::layout_in<X>;
  using in = detail::shape_in<X>;
  static_assert(sizeof...(Along) > 0,
                "meshtf: softmax names the dimensions it works along: softmax<vocab>(x)");
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = reduce_verdict<actual<L>, in, Along...>;
  static_assert(accepted<whole>, "meshtf: softmax needs a finished value: write softmax<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: softmax can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("softmax", at);
    return detail::in_elements<T>(softmax<Along...>(detail::widened(x), at));
  } else {
    auto const& x = detail::local_terms(operand);
    using row     = without<in, shape<Along...>>;
    auto& m       = x.machine();
    m.begin_operation("softmax", at);

    auto const peak  = detail::maximum<row>(x);
    auto y           = detail::each<T, in>(function::exp_of_difference{}, x, peak);
    auto const total = detail::finished(detail::reduced<reduction::sum, row>(function::identity{}, y));
    detail::run_map(m, nest_plan<actual<L>, in, in, row>::local, function::over{}, y.data(),
                    std::as_const(y).data(), total.data());

    if (detail::wants_gradient(x))
      detail::record(y, [x = x.without_value(), y = detail::keep(y)](auto const& dy) {
        auto const inner =
            detail::finished(detail::reduced<reduction::sum, row>(function::times{}, dy, y.value()));
        detail::contribute(x, detail::each<T, in>(function::softmax_gradient{}, y.value(), dy, inner));
      });
    return y;
  }
}

/// x - log(sum(exp(x))) along `Along...`, of the same shape and placement as `x`. Sends the same messages as
/// `softmax`. Gradient: dx = dy - exp(y) * sum(dy).
template<Dimension... Along, detail::FloatingOperand X>
constexpr auto log_softmax(X const& operand, std::source_location at = std::source_location::current()) {
  using T  = detail::element_in<X>;
  using L  = detail::layout_in<X>;
  using in = detail::shape_in<X>;
  static_assert(sizeof...(Along) > 0,
                "meshtf: log_softmax names the dimensions it works along: log_softmax<vocab>(x)");
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using verdict = reduce_verdict<actual<L>, in, Along...>;
  static_assert(accepted<whole>,
                "meshtf: log_softmax needs a finished value: write log_softmax<...>(finish(x))");
  static_assert(accepted<verdict>, "meshtf: log_softmax can't work along these dimensions");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else if constexpr (NarrowElement<T>) {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("log_softmax", at);
    return detail::in_elements<T>(log_softmax<Along...>(detail::widened(x), at));
  } else {
    auto const& x = detail::local_terms(operand);
    using row     = without<in, shape<Along...>>;
    x.machine().begin_operation("log_softmax", at);

    auto const peak = detail::maximum<row>(x);
    auto const total =
        detail::finished(detail::reduced<reduction::sum, row>(function::exp_of_difference{}, x, peak));
    auto const log_total = detail::each<T, row>(function::log_plus{}, total, peak);
    auto y               = detail::each<T, in>(function::minus{}, x, log_total);

    if (detail::wants_gradient(x))
      detail::record(y, [x = x.without_value(), y = detail::keep(y)](auto const& dy) {
        auto const inner = detail::finished(detail::reduced<reduction::sum, row>(function::identity{}, dy));
        detail::contribute(x, detail::each<T, in>(function::log_softmax_gradient{}, y.value(), dy, inner));
      });
    return y;
  }
}

MESHTF_ACCEPT_REJECTED(softmax)
MESHTF_ACCEPT_REJECTED(log_softmax)

}  // namespace v0
}  // namespace meshtf
