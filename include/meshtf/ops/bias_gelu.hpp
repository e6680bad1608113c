// bias_gelu: gelu(x + bias) in one pass, and its gradients in one.
#pragma once

#include <source_location>

#include <meshtf/ops/arithmetic.hpp>
#include <meshtf/ops/functions.hpp>
#include <meshtf/plan/bias_plan.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

namespace function {

struct gelu_of_sum : of_elements<gelu::flops + 1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return gelu{}(x + y); }
};
struct gelu_of_sum_gradient : of_elements<gelu_gradient::flops + 1> {
  constexpr auto operator()(auto const& dz, auto const& x, auto const& y) const { return gelu_gradient{}(dz, x + y); }
};

}  // namespace function

/// gelu(x + bias), the bias without some of x's dimensions. It keeps x and not the sum. The gradient of the bias is summed while that of x is computed, if
/// its dimensions are x's innermost; it owes the axes of the dimensions that it lacks.
template<FloatingElement T, class L, class... X, class U, class R, class... B>
constexpr auto bias_gelu(tensor<T, L, X...> const& x, tensor<U, R, B...> const& bias, std::source_location at = std::source_location::current()) {
  using plan    = bias_plan<wet<L>, shape<X...>, shape<B...>>;
  using verdict = first_objection<detail::fit_verdict<tensor<T, L>, tensor<U, R>>, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: bias_gelu can't add this bias");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    x.machine().enter("bias_gelu", at);
    auto z = detail::each<T, shape<X...>>(function::gelu_of_sum{}, x, bias);
    if (detail::wants_gradient(x, bias))
      detail::record(z, [x = detail::keep(x), b = detail::keep(bias)](auto const& dz) {
        constexpr function::gelu_of_sum_gradient slope{};
        if constexpr (plan::innermost)
          if (x.needs_gradient() && b.needs_gradient()) {
            auto dx = tensor<T, L, X...>::uninitialised(dz.machine());
            auto db = tensor<T, L, B...>::uninitialised(dz.machine());
            dz.machine().run(task::map_rows_and_sum<function::gelu_of_sum_gradient, T>{slope}, plan::rows, dz.data(), x.value().data(),
                             b.value().data(), dx.data(), db.data());
            detail::contribute(x.target(), dx);
            detail::contribute(b.target(), db, plan::owed);
            return;
          }
        if (x.needs_gradient()) detail::contribute(x.target(), detail::each<T, shape<X...>>(slope, dz, x.value(), b.value()));
        if (b.needs_gradient()) detail::pull_back(b.target(), slope, dz, x.value(), b.value());
      });
    return z;
  }
}

template<class V, class Over, class B>
constexpr V bias_gelu(partial<V, Over> const& x, B const&) {
  static_assert(accepted<detail::use_verdict<algebra::use::bent, partial<V, Over>>>, "meshtf: bias_gelu is not linear: bias_gelu(finish(x), bias)");
  return x.addend();
}

}  // namespace meshtf::inline v0
