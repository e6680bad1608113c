// bias_gelu: gelu(x + bias) in one pass, and its gradients in one pass.
#pragma once

#include <source_location>

#include <meshtf/ops/pointwise/gelu.hpp>
#include <meshtf/plan/bias_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

struct gelu_of_sum : of_elements<gelu::flops + 1> {
  constexpr auto operator()(auto const& x, auto const& y) const { return gelu{}(x + y); }
};
struct gelu_of_sum_gradient : of_elements<gelu::gradient_flops + 1> {
  constexpr auto operator()(auto const& dz, auto const& x, auto const& y) const {
    return gelu{}.gradient_by_operand(dz, x + y);
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_AND_SUM(2, function::gelu_of_sum)
MESHTF_COMPILE_MAP_AND_SUM(3, function::gelu_of_sum_gradient)

#define MESHTF_BIAS_GELU(T) template struct task::map_rows_and_sum<function::gelu_of_sum_gradient, T>;
MESHTF_COMPILE_FLOATING(MESHTF_BIAS_GELU)
#undef MESHTF_BIAS_GELU

/// gelu(x + bias), where the bias may lack some of x's dimensions. The tape keeps x, not the sum. If the bias
/// has x's innermost dimensions, its gradient is summed in the pass that computes the gradient of x; it is
/// unreduced over the axes of the dimensions that the bias lacks.
template<detail::FloatingOperand XOperand, Tensor B>
constexpr auto bias_gelu(XOperand const& operand, B const& bias,
                         std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<XOperand>;
  using L       = detail::layout_in<XOperand>;
  using X       = detail::shape_in<XOperand>;
  using whole   = detail::use_verdict<algebra::use::nonlinear, XOperand>;
  using plan    = bias_plan<actual<L>, X, typename B::shape_type>;
  using verdict = first_objection<
      detail::fit_verdict<tensor<T, L>, tensor<typename B::element_type, typename B::layout_type>>,
      typename plan::verdict>;
  static_assert(accepted<whole>,
                "meshtf: bias_gelu needs a finished value: write bias_gelu(finish(x), bias)");
  static_assert(accepted<verdict>, "meshtf: bias_gelu can't add this bias");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& x = detail::local_terms(operand);
    x.machine().begin_operation("bias_gelu", at);
    auto z = detail::each<T, X>(function::gelu_of_sum{}, x, bias);
    if (detail::wants_gradient(x, detail::local_terms(bias)))
      detail::record(z, [x = detail::keep(x), b = detail::keep(bias)](auto const& dz) {
        constexpr function::gelu_of_sum_gradient slope{};
        if constexpr (plan::innermost)
          if (x.needs_gradient() && b.needs_gradient()) {
            auto dx = tensor_of<T, L, X>::uninitialised(dz.machine());
            auto db = tensor_of<computed<T>, L, typename B::shape_type>::uninitialised(dz.machine());
            dz.machine().run(task::map_rows_and_sum<function::gelu_of_sum_gradient, T>{slope}, plan::rows,
                             dz.data(), x.value().data(), b.value().data(), dx.data(), db.data());
            detail::contribute(x.target(), dx);
            if constexpr (NarrowElement<T>)
              detail::contribute(b.target(),
                                 detail::each<T, typename B::shape_type>(function::identity{}, db),
                                 plan::unreduced);
            else detail::contribute(b.target(), db, plan::unreduced);
            return;
          }
        if (x.needs_gradient())
          detail::contribute(x.target(), detail::each<T, X>(slope, dz, x.value(), b.value()));
        if (b.needs_gradient()) detail::pull_back(b.target(), 0, slope, dz, x.value(), b.value());
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(bias_gelu)

}  // namespace v0
}  // namespace meshtf
