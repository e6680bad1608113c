// What a running sum or product will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Which elements go into each of the running sums, or products: those before it and itself.
struct running {
  bool exclusive = false;  // not itself
  bool reverse   = false;  // those after it instead of those before
};

/// A running sum or product needs the whole of `Dim`, which is split over `Axes`. First reshard to a layout in which it is whole.
template<class Dim, class Axes>
struct running_sum_along_split_dim {};

/// Lines that are whole in every process.
struct cumsum_steps {
  line_steps lines{};

  static constexpr bool needs_whole = true;

  /// It uses the first array, and asks for the loop along the lines.
  static constexpr cumsum_steps plan(task_loops const& l, loop_extents const& e) { return {line_steps::plan(l, e)}; }
};

namespace task {

/// z[i] = x[0] + ... + x[i] of each line, or products; in `reverse` x[i] + ... + x[n - 1]; `exclusive` without x[i]. Arrays: x, z.
template<reduction Op, Element T>
struct run_along {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    extent const n = s.lines.rows() * s.lines.along;
    return {.kind = "reduction", .elementwise = n, .bytes = 2 * n * extent{sizeof(T)}};
  }
};
template<reduction Op, Element T>
void compute(run_along<Op, T> const&, cumsum_steps const&, place_in_mesh const&, T const* x, T* z);

template<Element T>
using cumsum = run_along<reduction::sum, T>;
template<Element T>
using cumprod = run_along<reduction::product, T>;

/// The gradient of the running products z of x: dx[i] = x[0] * ... * x[i - 1] * s[i], where s[i] = dz[i] + x[i + 1] * s[i + 1]. Nothing is divided, so
/// zeros do no harm. Arrays: x, dz, dx.
template<Element T>
struct cumprod_gradient {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    extent const n = s.lines.rows() * s.lines.along;
    return {.kind = "reduction", .elementwise = 4 * n, .bytes = 3 * n * extent{sizeof(T)}};
  }
};
template<Element T>
void compute(cumprod_gradient<T> const&, cumsum_steps const&, place_in_mesh const&, T const* x, T const* dz, T* dx);

}  // namespace task

/// Running sums or products of a tensor of shape `X` along `Along`.
template<Layout L, class X, class Along>
struct cumsum_plan {
  using whole = std::conditional_t<is_undecided<L> || split_over<L, shape<Along>> == 0, legal, running_sum_along_split_dim<Along, axes_of<L, Along>>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>, whole>;

  static constexpr steps_under<L, cumsum_steps, X> lines = plan_steps<L, cumsum_steps, X, Along>(arrays_of<X>{});
};

/// `legal`, or the objection to `cumsum<Along>` or `cumprod<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using cumsum_verdict = typename cumsum_plan<L, X, Along>::verdict;

}  // namespace v0
}  // namespace meshtf
