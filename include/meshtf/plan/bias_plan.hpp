// What a pass over rows that share a bias will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Rows that share a bias. They are walked in blocks of rows of contiguous elements; if a process holds all
/// that is allocated, one block is the whole tensor.
struct bias_steps {
  // of a block
  extent rows      = 1;
  extent elements  = 1;
  extent stride    = 1;  // elements from one row to the next
  extent allocated = 1;  // allocated elements of the bias
  block_loops blocks{};  // over the tensor and the bias

  /// Arrays: the tensor and the bias, whose dimensions are the tensor's last ones.
  static constexpr bias_steps plan(task_loops const& l, loop_extents const& e) {
    auto const in_x    = strides_of(l.operand[0], e.allocated_extents());
    auto const in_bias = strides_of(l.operand[1], e.allocated_extents());
    bias_steps s;
    bool some = false;
    for (int i = l.operand[0].count; i-- > 0;) {
      int const d        = l.operand[0][i];
      extent const n     = e.local[d];
      bool const of_bias = l.operand[1].has(d);
      if (of_bias) s.allocated *= e.allocated[d];
      if (e.makes_one_iteration(d)) continue;
      if (of_bias && in_x[d] == s.elements) s.elements *= n;
      else if (!of_bias && !some) {
        some     = true;
        s.rows   = n;
        s.stride = in_x[d];
      } else if (!of_bias && in_x[d] == s.stride * s.rows) s.rows *= n;
      else s.blocks.add(n, in_x[d], in_bias[d]);
    }
    return s;
  }
  /// Elements of the tensor in a process.
  constexpr extent all() const { return blocks.iterations() * rows * elements; }
};

/// Rows of contiguous elements, one after the other.
constexpr bias_steps contiguous_rows(extent rows, extent elements) {
  return {.rows = rows, .elements = elements, .stride = elements, .allocated = elements};
}

namespace task {

/// z = f(dz, x, bias), and the sum of z over the rows, in the type that is computed with. Arrays: dz, x,
/// bias, z, the sum.
template<class F, Element T>
struct map_rows_and_sum {
  using steps_type = bias_steps;
  F f;

  static constexpr meshtf::work work(bias_steps const& s) {
    extent const n = s.all();
    return {.kind        = "elementwise",
            .elementwise = n * (detail::flops_of<F> + 1),
            .bytes = (3 * n + s.allocated) * extent{sizeof(T)} + s.allocated * extent{sizeof(computed<T>)}};
  }
  void compute(bias_steps const&, place_in_mesh const&, T const* dz, T const* x, T const* b, T* z,
               computed<T>* total) const;
};

}  // namespace task

/// A bias of shape `B` on a tensor of shape `X`. The tensor has all dimensions of the bias.
template<Layout L, class X, class B>
struct bias_plan;

template<Layout L, class X, class... B>
struct bias_plan<L, X, shape<B...>> {
  using verdict = first_objection<detail::dims_are_in<X, B...>, placement_verdict_of<L, X>>;

  /// Whether the rows that share the bias lie one after the other.
  static constexpr bool innermost = std::same_as<united<without<X, shape<B...>>, shape<B...>>, X>;
  static constexpr steps_under<L, bias_steps, X> rows =
      plan_steps<L, bias_steps, X>(arrays_of<X, shape<B...>>{});
  static constexpr axis_set unreduced = split_over<L, X> & ~split_over<L, shape<B...>>;
};

/// `legal`, or the objection to a bias of shape `B` on a tensor of shape `X`.
template<Layout L, class X, class B>
using bias_verdict = typename bias_plan<L, X, B>::verdict;

}  // namespace v0
}  // namespace meshtf
