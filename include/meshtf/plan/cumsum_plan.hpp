// What a running sum will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// A running sum needs the whole of `Dim`, which is split over `Axes`. First reshard to a layout in which it is whole.
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

/// z[i] = x[0] + ... + x[i] of each line; in `reverse` z[i] = x[i] + ... + x[n - 1]. Arrays: x, z.
template<Element T>
struct cumsum {
  using steps_type = cumsum_steps;
  bool reverse     = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    extent const n = s.lines.rows() * s.lines.along;
    return {.kind = "reduction", .elementwise = n, .bytes = 2 * n * extent{sizeof(T)}};
  }
};
template<Element T>
void compute(cumsum<T> const&, cumsum_steps const&, place_in_mesh const&, T const* x, T* z);

}  // namespace task

/// Running sums of a tensor of shape `X` along `Along`.
template<Layout L, class X, class Along>
struct cumsum_plan {
  using whole = std::conditional_t<is_undecided<L> || split_over<L, shape<Along>> == 0, legal, running_sum_along_split_dim<Along, axes_of<L, Along>>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>, whole>;

  static constexpr steps_under<L, cumsum_steps, X> lines = plan_steps<L, cumsum_steps, X, Along>(arrays_of<X>{});
};

/// `legal`, or the objection to `cumsum<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using cumsum_verdict = typename cumsum_plan<L, X, Along>::verdict;

}  // namespace v0
}  // namespace meshtf
