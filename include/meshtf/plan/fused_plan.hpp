// What the passes of a fused function will do, decided before they run.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <meshtf/plan/bias_plan.hpp>

namespace meshtf {
inline namespace v0 {

namespace task {

/// The `R` results of a function of `K` operands, all in one pass: f(x) returns an array of them. The
/// operands in the set `Rows` are rows that the others share. Arrays: x..., then the results.
template<class F, Element T, std::size_t K, std::size_t R, unsigned Rows>
struct map_results {
  using steps_type = bias_steps;
  F f;

  static constexpr meshtf::work work(bias_steps const& s) {
    extent const rows = std::popcount(Rows);
    return {.kind        = "elementwise",
            .elementwise = s.all() * F::flops,
            .bytes = ((extent{K} - rows + extent{R}) * s.all() + rows * s.allocated) * extent{sizeof(T)}};
  }
  template<class... A>
  void compute(bias_steps const&, place_in_mesh const&, A*... arrays) const;
};

/// The gradients of a function of `K` operands with `R` results, all in one pass: f(dz, given, x) returns one
/// for each operand. The operands in the set `Rows` are rows that the others share; their gradients are
/// summed over the rows, in the type that is computed with. With `OneSlope`, each dz is one number for all
/// elements.
/// Arrays: dz for each result, or nullptr where none is given; x...; a gradient for each operand, or nullptr
/// where none is wanted.
template<class F, Element T, std::size_t K, std::size_t R, unsigned Rows, bool OneSlope>
struct map_gradients {
  using steps_type = bias_steps;
  F f;
  unsigned wanted;  // the set of operands whose gradients are
  unsigned given;   // the set of results that have one

  constexpr unsigned options() const { return wanted | given << K; }
  static constexpr map_gradients from_bits(unsigned bits) {
    return {F::of_zeros(), bits & ((1U << K) - 1), bits >> K};
  }

  constexpr meshtf::work work(bias_steps const& s) const {
    constexpr auto count = [](unsigned set) { return extent{std::popcount(set)}; };
    extent const n       = s.all();
    extent const whole   = (OneSlope ? 0 : count(given)) + extent{K} - count(Rows) + count(wanted & ~Rows);
    return {
        .kind        = "elementwise",
        .elementwise = n * (F::flops + count(wanted & Rows)),
        .bytes = (whole * n + count(Rows) * s.allocated + (OneSlope ? count(given) : 0)) * extent{sizeof(T)} +
                 count(wanted & Rows) * s.allocated * extent{sizeof(computed<T>)}};
  }
  template<class... A>
  void compute(bias_steps const&, place_in_mesh const&, A*... arrays) const;
};

}  // namespace task

namespace detail {

/// The first of the shapes that is not `Out`; `Out` if all are.
template<class Out, class... X>
struct first_other : std::type_identity<Out> {};
template<class Out, class X, class... More>
struct first_other<Out, X, More...> : std::type_identity<X> {};
template<class Out, class... More>
struct first_other<Out, Out, More...> : first_other<Out, More...> {};

template<class Out, class Row>
inline constexpr bool is_innermost = false;
template<class Out, class First, class... More>
inline constexpr bool is_innermost<Out, shape<First, More...>> =
    (Out::template has<First> && ... && Out::template has<More>) &&
    std::same_as<united<without<Out, shape<First, More...>>, shape<First, More...>>, Out>;

}  // namespace detail

/// The gradients of a function of operands of the shapes `X...`, broadcast to `Out`.
template<Layout L, class Out, class... X>
struct fused_plan {
  using row = typename detail::first_other<Out, X...>::type;

  /// Whether one pass makes all gradients: each operand has all dimensions in the result's order, or is the
  /// one row of innermost dimensions that all others share.
  static constexpr bool one_pass =
      ((std::same_as<X, Out> || std::same_as<X, row>) && ...) && detail::is_innermost<Out, row>;

  /// The set of operands that are rows.
  static constexpr unsigned rows = [] {
    unsigned set  = 0;
    unsigned next = 1;
    ((set |= std::same_as<X, Out> ? 0U : next, next <<= 1), ...);
    return set;
  }();

  using walked = std::conditional_t<one_pass, row, Out>;
  static constexpr steps_under<L, bias_steps, Out> steps =
      plan_steps<L, bias_steps, Out>(arrays_of<Out, walked>{});
  static constexpr axis_set unreduced = split_over<L, Out> & ~split_over<L, walked>;
};

}  // namespace v0
}  // namespace meshtf
