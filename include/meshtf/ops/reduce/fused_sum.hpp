// fused_sum and fused_max: the sum and the maximum of a function of elements, whose values are stored
// nowhere.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <meshtf/ops/pointwise/fused.hpp>
#include <meshtf/ops/reduce/max.hpp>
#include <meshtf/ops/reduce/sum.hpp>

namespace meshtf {
inline namespace v0 {

namespace fusion {

/// The contribution to operand number `I` of the maximum z of f: where f equals it; NaN if that is NaN.
template<std::size_t I, class F, std::size_t K>
struct max_gradient_by : function::of_elements<function_of<F, K>::template steps<1U << I> + 2> {
  [[no_unique_address]] F f;

  constexpr explicit max_gradient_by(F const& g) : f(g) {}
  template<class V, class... X>
  constexpr V operator()(V const& dz, V const& z, X const&... x) const {
    auto const here = function_of<F, K>::template call<1U << I>(f, std::array{x...});
    return here.template contribution<I>(function::where_equal{}(dz, here.value, z));
  }
};

/// What f(x...) is reduced to over `Along...`, and the first objection to it.
template<std::size_t Most, class F, class Along, class X, class... Rest>
struct reduction_of;
template<std::size_t Most, class F, class... Along, class X, class... Rest>
struct reduction_of<Most, F, shape<Along...>, X, Rest...> {
  static constexpr std::size_t operands = 1 + sizeof...(Rest);

  using layout  = actual<detail::layout_in<X>>;
  using dims    = broadcast_shape<detail::shape_in<X>, detail::shape_in<Rest>...>;
  using out     = without<dims, detail::worked_along<dims, Along...>>;
  using plan    = fused_plan<layout, dims, detail::shape_in<X>, detail::shape_in<Rest>...>;
  using whole   = first_objection<detail::use_verdict<algebra::use::nonlinear, X>,
                                  detail::use_verdict<algebra::use::nonlinear, Rest>...>;
  using verdict = first_objection<
      std::conditional_t<(operands <= Most), legal, too_many_operands<int{operands}, int{Most}>>,
      detail::operands_fit<X, Rest>...,
      elementwise_verdict<layout, detail::shape_in<X>, detail::shape_in<Rest>...>,
      reduce_verdict<layout, dims, Along...>>;
  static constexpr bool one      = !can_be_fused<F, operands>::in_tuple;
  static constexpr bool function = can_be_fused<F, operands>::yes && FloatingElement<detail::element_in<X>>;
  static constexpr bool yes      = accepted<first_objection<whole, verdict>> && one && function;
};

}  // namespace fusion

//= || torch.compile(f)(x).sum(1) || jax.jit(lambda x: f(x).sum(1))(x) || fused_sum<hidden>(f, x)
/// The sum of f(x...) over `Along...`, of all elements if none is named, in one pass over memory: what f
/// makes of each element is stored nowhere. `f` and the operands are those of `fused`.
///
///     auto loss = fused_sum<>([](auto x, auto y) { return square(x - y); }, a, b) / n;
///
/// Where one of the dimensions is split, an all-reduce of the result joins the processes' sums. The gradients
/// of a sum of all elements are made in one pass, where those of `fused` are; otherwise each has a pass.
template<Dimension... Along, class F, detail::Operand X, detail::Operand... Rest>
  requires(!detail::Operand<F>)
constexpr auto fused_sum(F const& f, X const& x, Rest const&... rest) {
  using as           = fusion::reduction_of<detail::max_mapped, F, shape<Along...>, X, Rest...>;
  constexpr bool one = as::one;  // by name, for clang's words
  static_assert(accepted<typename as::whole>, "meshtf: fused_sum needs finished values: finish(x)");
  static_assert(accepted<typename as::verdict>, "meshtf: fused_sum can't join or add up these operands");
  static_assert(one, "meshtf: fused_sum's function returns one number, no tuple of several");
  static_assert(as::function, "meshtf: fused_sum can't take this function: fused(f, x...) says why");
  if constexpr (!as::yes) {
    return detail::rejected{};
  } else {
    using plan = typename as::plan;
    detail::local_terms(x).machine().begin_operation("fused_sum");
    auto z = detail::finished(detail::reduced<reduction::sum, typename as::out>(
        fusion::value_of<F, as::operands>{f}, detail::local_terms(x), detail::local_terms(rest)...));
    if (detail::wants_gradient(detail::local_terms(x), detail::local_terms(rest)...))
      detail::record(z, [f, x = detail::keep(detail::local_terms(x)),
                         ... rest = detail::keep(detail::local_terms(rest))](auto const& dz) {
        if constexpr (plan::one_pass && std::is_same_v<typename as::out, shape<>>)
          detail::pull_back_in_one_pass<true, plan>(f, 1, std::array{&dz}, x, rest...);
        else detail::pull_back_each<0>(f, dz, x, rest...);
      });
    return z;
  }
}

//= || torch.compile(f)(x).amax(1) || jax.jit(lambda x: f(x).max(1))(x) || fused_max<hidden>(f, x)
/// The largest f(x...) over `Along...`, of all elements if none is named, in one pass over memory; of at most
/// two operands. NaN if one is NaN. Otherwise as `fused_sum`, and the gradient goes to all elements that have
/// the maximum, as that of `max`.
template<Dimension... Along, class F, detail::Operand X, detail::Operand... Rest>
  requires(!detail::Operand<F>)
constexpr auto fused_max(F const& f, X const& x, Rest const&... rest) {
  using as           = fusion::reduction_of<detail::max_mapped - 1, F, shape<Along...>, X, Rest...>;
  constexpr bool one = as::one;  // by name, for clang's words
  static_assert(accepted<typename as::whole>, "meshtf: fused_max needs finished values: finish(x)");
  static_assert(accepted<typename as::verdict>, "meshtf: fused_max can't join or compare these operands");
  static_assert(one, "meshtf: fused_max's function returns one number, no tuple of several");
  static_assert(as::function, "meshtf: fused_max can't take this function: fused(f, x...) says why");
  if constexpr (!as::yes) {
    return detail::rejected{};
  } else {
    auto& m = detail::local_terms(x).machine();
    m.begin_operation("fused_max");
    auto part = detail::reduced<reduction::max, typename as::out>(
        fusion::value_of<F, as::operands>{f}, detail::local_terms(x), detail::local_terms(rest)...);
    m.because(part.why);
    m.all_reduce(reduction::max, part.value.data(), part.value.size, part.unreduced);
    auto z = std::move(part.value);
    if (detail::wants_gradient(detail::local_terms(x), detail::local_terms(rest)...))
      detail::record(z, [f, z = detail::keep(z), x = detail::keep(detail::local_terms(x)),
                         ... rest = detail::keep(detail::local_terms(rest))](auto const& dz) {
        auto const pull = [&](auto gradient, auto const& to) {
          if (to.needs_gradient())
            detail::pull_back(to.target(), 0, gradient, dz, z.value(), x.value(), rest.value()...);
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          pull(fusion::max_gradient_by<0, F, as::operands>{f}, x);
          (pull(fusion::max_gradient_by<I + 1, F, as::operands>{f}, rest), ...);
        }(std::index_sequence_for<Rest...>{});
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(fused_sum)
MESHTF_ACCEPT_REJECTED(fused_max)

}  // namespace v0
}  // namespace meshtf
