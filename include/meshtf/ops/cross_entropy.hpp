// Softmax cross entropy with integer targets, along a class dimension that may be split.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/ops/max.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/tensor/local.hpp>
#include <meshtf/tensor/tape.hpp>

namespace meshtf::inline v0 {

/// log(sum(exp(logits))) - logits[target] along `Class`, one number for each target.
///
/// `targets` hold class numbers from 0 to Class::size - 1, and have the logits' other dimensions in their order; a number outside ends the program with its
/// place. Where `Class` is split, no logits travel: an all-reduce of the maximum, and one with the sum and the target's logit together. The probabilities are
/// not stored: gradient dlogits = (exp(logits - log total) - [target]) * dz, which sends nothing and owes nothing.
/// Source: Shoeybi et al., Megatron-LM (2019), section 3.
template<Dimension Class, FloatingElement T, class L, class... X, class U, class R, class... Y>
constexpr auto softmax_cross_entropy(tensor<T, L, X...> const& logits, tensor<U, R, Y...> const& targets,
                                     std::source_location at = std::source_location::current()) {
  using plan    = cross_entropy_plan<wet<L>, shape<X...>, Class, shape<Y...>>;
  using row     = typename plan::result;
  using number  = std::conditional_t<std::is_same_v<U, std::int32_t>, legal, operands_have_different_elements<std::int32_t, U>>;
  using verdict = first_objection<detail::fit_verdict<tensor<U, L>, tensor<U, R>>, number, typename plan::verdict>;
  static_assert(accepted<verdict>, "meshtf: softmax_cross_entropy can't use these targets");
  if constexpr (!accepted<verdict>) {
    return detail::rejected{};
  } else {
    auto& m = logits.machine();
    m.enter("softmax_cross_entropy", at);

    auto const peak     = detail::maximum<row>(logits);
    constexpr extent n  = tensor_of<T, L, row>::size;
    constexpr auto sums = nest_plan<wet<L>, row, shape<X...>, row>::local;
    // the sum and the target's logit travel in one message
    detail::storage<T, machine<L>> both{m, 2 * n};
    m.template reduce<reduction::sum>(sums, function::exp_of_difference{}, both.data(), logits.data(), peak.data());
    T* const picked = detail::offset<L>(both.data(), n);
    m.pick(plan::lines, logits.data(), targets.data(), picked);
    m.all_reduce(reduction::sum, both.data(), 2 * n, plan::finished_over);

    auto log_total      = tensor_of<T, L, row>::uninitialised(m);
    auto z              = tensor_of<T, L, row>::uninitialised(m);
    constexpr auto rows = nest_plan<wet<L>, row, row, row>::local;
    m.map(rows, function::log_plus{}, log_total.data(), std::as_const(both).data(), peak.data());
    m.map(rows, function::minus{}, z.data(), std::as_const(log_total).data(), picked);

    if (detail::wants_gradient(logits))
      detail::record(z, [logits = detail::keep(logits), targets = detail::keep(targets), log_total](auto const& dz) {
        auto dx = detail::each<T, shape<X...>>(function::cross_entropy_gradient{}, logits.value(), log_total, dz);
        dx.machine().pick_gradient(plan::lines, T{-1}, dz.data(), targets.value().data(), dx.data());
        detail::contribute(logits.target(), dx);
      });
    return z;
  }
}

template<Dimension Class, class V, class Over, class U, class R, class... Y>
constexpr V softmax_cross_entropy(partial<V, Over> const& x, tensor<U, R, Y...> const&) {
  static_assert(accepted<still_a_sum_over<Over>>,
                "meshtf: softmax_cross_entropy is not linear, so it can't take the addends of a sum: finish(logits)");
  return x.addend();
}

}  // namespace meshtf::inline v0
