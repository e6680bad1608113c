// Softmax cross entropy with integer targets, along a class dimension that may be split.
#pragma once

#include <utility>

#include <meshtf/ops/normalise/softmax.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace function {

template<class T>
struct smoothed_cross_entropy : of_elements<6> {
  // smoothing: the share of each class
  T smoothing;
  T z_loss;
  T target;  // the share that is left for the target
  constexpr smoothed_cross_entropy(T s, T z, T t) : smoothing(s), z_loss(z), target(t) {}
  template<class V>
  constexpr V operator()(V const& log_total, V const& picked, V const& total) const {
    return log_total - V(target) * picked - V(smoothing) * total + V(z_loss) * log_total * log_total;
  }
};

template<class T>
struct smoothed_cross_entropy_gradient : of_elements<7> {  // without the target's own term
  T smoothing;
  T z_loss;
  constexpr smoothed_cross_entropy_gradient(T s, T z) : smoothing(s), z_loss(z) {}
  template<class V>
  constexpr V operator()(V const& logit, V const& log_total, V const& dz) const {
    using math::exp;
    return dz * (exp(logit - log_total) * (V(1) + V(2) * V(z_loss) * log_total) - V(smoothing));
  }
};

struct cross_entropy_gradient : of_elements<3> {  // without the target's own term, -1
  constexpr auto operator()(auto const& logit, auto const& log_total, auto const& dz) const {
    using math::exp;
    return exp(logit - log_total) * dz;
  }
};

}  // namespace function

MESHTF_COMPILE_MAP_OF(3, function::smoothed_cross_entropy)
MESHTF_COMPILE_MAP_OF(3, function::smoothed_cross_entropy_gradient)
MESHTF_COMPILE_MAP(3, function::cross_entropy_gradient)

// Of bfloat16 logits the losses are float.
MESHTF_COMPILE_MIXED_SUM(function::exp_of_difference, float, bfloat16, float)
MESHTF_COMPILE_MIXED_MAP(function::smoothed_cross_entropy_gradient<float>, bfloat16, bfloat16, float, float)
MESHTF_COMPILE_MIXED_MAP(function::cross_entropy_gradient, bfloat16, bfloat16, float, float)

#define MESHTF_SET_TARGET(T)                                                                   \
  template struct task::set_picked<function::smoothed_cross_entropy_gradient<computed<T>>, T>; \
  template struct task::set_picked<function::cross_entropy_gradient, T>;
MESHTF_COMPILE_NARROW(MESHTF_SET_TARGET)
#undef MESHTF_SET_TARGET

/// Terms that `softmax_cross_entropy` can add to the plain loss.
struct cross_entropy_options {
  /// This share of the target's probability is spread evenly over all classes. Source: Szegedy et al.,
  /// Rethinking the Inception Architecture (2016).
  double label_smoothing = 0;
  /// The loss gets this factor times the square of log(sum(exp(logits))), to keep the sum near 1. Source:
  /// Chowdhery et al., PaLM (2022), section 5.
  double z_loss = 0;

  constexpr bool plain() const { return label_smoothing == 0 && z_loss == 0; }
  /// The share of each class if there are `classes` of them.
  template<class T>
  constexpr T smoothing_of_each(extent classes) const {
    return static_cast<T>(label_smoothing / static_cast<double>(classes));
  }
};

/// log(sum(exp(logits))) - logits[target] along `Class`, one number for each target.
///
/// `targets` hold class numbers from 0 to Class::size - 1 and have the logits' other dimensions in their
/// order; any other number ends the program with a message that says where it stands. Where `Class` is split,
/// no logits travel: one all-reduce joins the maxima, another the sums and the targets' logits together. The
/// probabilities are not stored: the gradient is dlogits = (exp(logits - log total) - [target]) * dz; it
/// sends nothing and needs no reduction. With label smoothing the second all-reduce also carries the sum of
/// the logits: `softmax_cross_entropy<vocab>(logits, targets, {.label_smoothing = 0.1, .z_loss = 1e-4})`. Of
/// bfloat16 logits the losses are float: a mean over many of them would round away the progress of a step.
/// Source: Shoeybi et al., Megatron-LM (2019), section 3.
template<Dimension Class, detail::FloatingOperand X, Tensor Y>
constexpr auto softmax_cross_entropy(X const& operand, Y const& targets, cross_entropy_options options = {},
                                     std::source_location at = std::source_location::current()) {
  using T       = detail::element_in<X>;
  using L       = detail::layout_in<X>;
  using in      = detail::shape_in<X>;
  using U       = typename Y::element_type;
  using plan    = cross_entropy_plan<actual<L>, in, Class, typename Y::shape_type>;
  using row     = typename plan::result;
  using C       = computed<T>;
  using whole   = detail::use_verdict<algebra::use::normalised, X>;
  using number  = std::conditional_t<std::is_same_v<U, std::int32_t>, legal,
                                     operands_have_different_elements<std::int32_t, U>>;
  using verdict = first_objection<detail::fit_verdict<tensor<U, L>, tensor<U, typename Y::layout_type>>,
                                  number, typename plan::verdict>;
  static_assert(accepted<whole>,
                "meshtf: softmax_cross_entropy needs a finished value: write finish(logits)");
  static_assert(accepted<verdict>, "meshtf: softmax_cross_entropy can't use these targets");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    auto const& logits = detail::local_terms(operand);
    auto& m            = logits.machine();
    m.begin_operation("softmax_cross_entropy", at);
    detail::expect_one_mesh(m, targets.machine());

    auto const peak     = detail::maximum<row>(logits);
    constexpr auto n    = tensor_of<C, L, row>::size;
    constexpr auto sums = nest_plan<actual<L>, row, in, row>::local;
    // one message carries the sum, the target's logit and, for smoothing, the sum of the logits
    auto const numbers = extent{options.label_smoothing == 0 ? 2 : 3} * n;
    detail::storage<C, machine<L>> buffer{m, numbers};
    detail::run_reduce<reduction::sum>(m, sums, function::exp_of_difference{}, buffer.data(), logits.data(),
                                       peak.data());
    C* const picked = detail::offset<L>(buffer.data(), n);
    m.run(task::pick<T>{}, plan::lines, logits.data(), targets.data(), picked);
    C* const total = options.label_smoothing == 0 ? picked : detail::offset<L>(buffer.data(), 2 * n);
    if (options.label_smoothing != 0)
      detail::run_reduce<reduction::sum>(m, nest_plan<actual<L>, row, in>::local, function::identity{}, total,
                                         logits.data());
    m.because(&detail::reason_to_sum<actual<L>, in>);
    m.all_reduce(reduction::sum, buffer.data(), numbers, plan::finished_over);

    auto log_total      = tensor_of<C, L, row>::uninitialised(m);
    auto z              = tensor_of<C, L, row>::uninitialised(m);
    constexpr auto rows = nest_plan<actual<L>, row, row, row>::local;
    detail::run_map(m, rows, function::log_plus{}, log_total.data(), std::as_const(buffer).data(),
                    peak.data());
    if (options.plain()) {
      detail::run_map(m, rows, function::minus{}, z.data(), std::as_const(log_total).data(), picked);
    } else {
      constexpr auto all = nest_plan<actual<L>, row, row, row, row>::local;
      function::smoothed_cross_entropy<C> const loss{
          options.smoothing_of_each<C>(m.counted().template of<Class>()), static_cast<C>(options.z_loss),
          static_cast<C>(1 - options.label_smoothing)};
      detail::run_map(m, all, loss, z.data(), std::as_const(log_total).data(), static_cast<C const*>(picked),
                      static_cast<C const*>(total));
    }

    if (detail::wants_gradient(logits))
      detail::record(z, [logits = detail::keep(logits), targets = detail::keep(targets), log_total,
                         options](auto const& dz) {
        auto const pull = [&](auto const& slope) {
          auto dx          = detail::each<T, in>(slope, logits.value(), log_total, dz);
          auto const share = static_cast<computed<T>>(options.label_smoothing - 1);
          if constexpr (NarrowElement<T>)
            dx.machine().run(task::set_picked<std::remove_cvref_t<decltype(slope)>, T>{slope, share},
                             plan::lines, logits.value().data(), log_total.data(), dz.data(),
                             targets.value().data(), dx.data());
          else
            dx.machine().run(task::pick_gradient<T>{share}, plan::lines, dz.data(), targets.value().data(),
                             dx.data());
          detail::contribute(logits.target(), dx);
        };
        if (options.plain()) pull(function::cross_entropy_gradient{});
        else
          pull(function::smoothed_cross_entropy_gradient<computed<T>>{
              options.smoothing_of_each<computed<T>>(dz.machine().counted().template of<Class>()),
              static_cast<computed<T>>(options.z_loss)});
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(softmax_cross_entropy)
template<class... Named, class X, class Y>
  requires detail::AnyRejected<X, Y>
constexpr rejected softmax_cross_entropy(X const&, Y const&, cross_entropy_options const&,
                                         std::source_location = {}) {
  return {};
}

}  // namespace v0
}  // namespace meshtf
