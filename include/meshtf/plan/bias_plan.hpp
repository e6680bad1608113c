// What a pass over rows that share a bias will do, decided before it runs.
#pragma once

#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Rows that share a bias and lie one after the other, and the elements of a row.
struct bias_steps {
  extent rows = 1, elements = 1;

  /// Arrays: the tensor and the bias.
  static constexpr bias_steps plan(task_loops const& l, loop_extents const& e) {
    bias_steps steps;
    for (int d : l.operand[0]) (l.operand[1].has(d) ? steps.elements : steps.rows) *= e.held[d];
    return steps;
  }
};

namespace task {

/// z = f(dz, x, bias), and the sum of z over the rows. Arrays: dz, x, bias, z, the sum.
template<class F, Element T>
struct map_rows_and_sum {
  using steps_type = bias_steps;
  F f;

  static constexpr meshtf::work work(bias_steps const& s) {
    extent const n = s.rows * s.elements;
    return {.kind = "elementwise", .elementwise = n * (detail::flops_of<F> + 1), .bytes = (3 * n + 2 * s.elements) * extent{sizeof(T)}};
  }
};

}  // namespace task

/// A bias of shape `B` on a tensor of shape `X`. The tensor has all dimensions of the bias.
template<Layout L, class X, class B>
struct bias_plan;

template<Layout L, class X, class... B>
struct bias_plan<L, X, shape<B...>> {
  using verdict = first_objection<detail::dims_are_in<X, B...>, placement_verdict_of<L, X>>;

  /// Whether the rows that share the bias lie one after the other.
  static constexpr bool innermost                  = std::same_as<united<without<X, shape<B...>>, shape<B...>>, X>;
  static constexpr steps_under<L, bias_steps> rows = plan_steps<L, bias_steps, X>(arrays_of<X, shape<B...>>{});
  static constexpr axis_set owed                   = split_over<L, X> & ~split_over<L, shape<B...>>;
};

/// `legal`, or the objection to a bias of shape `B` on a tensor of shape `X`.
template<Layout L, class X, class B>
using bias_verdict = typename bias_plan<L, X, B>::verdict;

}  // namespace v0
}  // namespace meshtf
