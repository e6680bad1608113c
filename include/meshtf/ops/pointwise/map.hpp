// map: a user's function of elements, with its derivative.
#pragma once

#include <array>
#include <source_location>

#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

/// The map has `Given` operands and may have `Max`: its gradient runs over them, over dz and over its
/// result. Combine some of them in a map of their own.
template<int Given, int Max>
struct too_many_operands {};

namespace detail {

/// The most operands a map may have. Its gradient, which is compiled even where none is wanted, needs two
/// more.
inline constexpr int max_mapped = max_operands - 2;

template<int Given>
using count_verdict = std::conditional_t<(Given <= max_mapped), legal, too_many_operands<Given, max_mapped>>;

/// dz times the derivative of f by its K-th argument.
template<std::size_t K, class DF>
struct chained {
  static constexpr bool parallel = ParallelFunction<DF>;
  static constexpr extent flops  = 2;
  DF df;

  template<class T, class... X>
  constexpr T operator()(T dz, X... x) const {
    auto const slope = df(x...);
    if constexpr (requires { slope[K]; }) return dz * static_cast<T>(slope[K]);
    else return dz * static_cast<T>(slope);
  }
};

template<class DF, class Z, class... X>
constexpr void pull_back_chained(DF const& df, Z const& dz, kept<X> const&... x) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const pull = [&]<std::size_t J>(std::integral_constant<std::size_t, J>, auto const& target) {
      if (target.needs_gradient()) pull_back(target.target(), 0, chained<J, DF>{df}, dz, x.value()...);
    };
    (pull(std::integral_constant<std::size_t, I>{}, x), ...);
  }(std::index_sequence_for<X...>{});
}

}  // namespace detail

/// f(x...) for each element of at most three operands, broadcast to one another. `f` takes numbers; `df`
/// returns the derivative, or, for several operands, an array with one derivative for each. Local; a gradient
/// is unreduced over the axes of the dimensions that its operand lacks.
///
/// A function of yours is called by one thread. If it may be called by several at once, make it a class that
/// says so (`ParallelFunction`): `static constexpr bool parallel = true;`.
///
///     auto swish = map([](auto v) { return v / (1 + std::exp(-v)); },
///                      [](auto v) { auto s = 1 / (1 + std::exp(-v)); return s + v * s * (1 - s); }, x);
template<class F, class DF, detail::FloatingOperand X, detail::Operand... Rest>
  requires(!detail::Operand<F> && !detail::Operand<DF>)
constexpr auto map(F const& f, DF const& df, X const& x, Rest const&... rest) {
  using L     = detail::layout_in<X>;
  using whole = first_objection<detail::use_verdict<algebra::use::nonlinear, X>,
                                detail::use_verdict<algebra::use::nonlinear, Rest>...>;
  static_assert(accepted<whole>, "meshtf: map needs a finished value: write map(f, df, finish(x))");
  using verdict =
      first_objection<detail::count_verdict<1 + int{sizeof...(Rest)}>, detail::operands_fit<X, Rest>...,
                      elementwise_verdict<actual<L>, detail::shape_in<X>, detail::shape_in<Rest>...>>;
  static_assert(accepted<verdict>, "meshtf: map can't join these operands");
  if constexpr (!accepted<first_objection<whole, verdict>>) {
    return detail::rejected{};
  } else {
    using out = broadcast_shape<detail::shape_in<X>, detail::shape_in<Rest>...>;
    x.machine().begin_operation("map");
    auto z =
        detail::each<detail::element_in<X>, out>(f, detail::local_terms(x), detail::local_terms(rest)...);
    if (detail::wants_gradient(detail::local_terms(x), detail::local_terms(rest)...))
      detail::record(z, [df, x = detail::keep(x), ... rest = detail::keep(rest)](auto const& dz) {
        detail::pull_back_chained(df, dz, x, rest...);
      });
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(map)

}  // namespace v0
}  // namespace meshtf
