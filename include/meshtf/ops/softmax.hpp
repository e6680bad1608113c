// softmax and log_softmax along dimensions that may be split.
#pragma once

#include <source_location>

#include <meshtf/ops/functions.hpp>
#include <meshtf/ops/max.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// exp(x) / sum(exp(x)) along `Along...`, of the same shape and placement as `x`.
///
/// The maximum is taken first, so no finite input overflows. Where a dimension in `Along...` is split, the maximum and the sum are finished over its axes: two
/// all-reduces of one number for each remaining element. The gradient sends one: dx = y * (dy - sum(dy * y)); it owes nothing.
template<Dimension... Along, FloatingElement T, class L, class... X>
constexpr auto softmax(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Along) > 0, "meshtf: softmax names the dimensions it works along: softmax<vocab>(x)");
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: softmax can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using row = without<shape<X...>, shape<Along...>>;
    auto& m   = x.machine();
    m.enter("softmax", at);

    auto const peak  = detail::maximum<row>(x);
    auto y           = detail::each<T, shape<X...>>(function::exp_of_difference{}, x, peak);
    auto const total = detail::finished(detail::reduced<reduction::sum, row>(function::identity{}, y));
    detail::run_map(m, nest_plan<wet<L>, shape<X...>, shape<X...>, row>::local, function::over{}, y.data(), std::as_const(y).data(), total.data());

    if (detail::wants_gradient(x))
      detail::record(y, [x = x.without_value(), y = detail::keep(y)](auto const& dy) {
        auto const inner = detail::finished(detail::reduced<reduction::sum, row>(function::times{}, dy, y.value()));
        detail::contribute(x, detail::each<T, shape<X...>>(function::softmax_gradient{}, y.value(), dy, inner));
      });
    return y;
  }
}

/// x - log(sum(exp(x))) along `Along...`, of the same shape and placement as `x`. Sends what `softmax` sends. Gradient: dx = dy - exp(y) * sum(dy).
template<Dimension... Along, FloatingElement T, class L, class... X>
constexpr auto log_softmax(tensor<T, L, X...> const& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Along) > 0, "meshtf: log_softmax names the dimensions it works along: log_softmax<vocab>(x)");
  using verdict = reduce_verdict<wet<L>, shape<X...>, Along...>;
  static_assert(accepted<verdict>, "meshtf: log_softmax can't work along these dimensions");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    using row = without<shape<X...>, shape<Along...>>;
    x.machine().enter("log_softmax", at);

    auto const peak      = detail::maximum<row>(x);
    auto const total     = detail::finished(detail::reduced<reduction::sum, row>(function::exp_of_difference{}, x, peak));
    auto const log_total = detail::each<T, row>(function::log_plus{}, total, peak);
    auto y               = detail::each<T, shape<X...>>(function::minus{}, x, log_total);

    if (detail::wants_gradient(x))
      detail::record(y, [x = x.without_value(), y = detail::keep(y)](auto const& dy) {
        auto const inner = detail::finished(detail::reduced<reduction::sum, row>(function::identity{}, dy));
        detail::contribute(x, detail::each<T, shape<X...>>(function::log_softmax_gradient{}, y.value(), dy, inner));
      });
    return y;
  }
}

template<Dimension... Along, class V, class Over>
constexpr V softmax(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::normalised, partial<V, Over>>>, "meshtf: softmax is not linear: softmax<...>(finish(x))");
  return x.addend();
}

template<Dimension... Along, class V, class Over>
constexpr V log_softmax(partial<V, Over> const& x) {
  static_assert(accepted<detail::use_verdict<algebra::use::normalised, partial<V, Over>>>,
                "meshtf: log_softmax is not linear: log_softmax<...>(finish(x))");
  return x.addend();
}

}  // namespace meshtf::inline v0
