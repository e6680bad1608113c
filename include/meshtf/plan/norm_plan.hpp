// What a normalisation along a dimension will do, decided before it runs.
#pragma once

#include <meshtf/plan/cross_entropy_plan.hpp>

namespace meshtf::inline v0 {

/// A scale or bias of a normalisation has the dimension it works along, and no other: its shape is `Expected`, not `Given`.
template<class Expected, class Given>
struct scale_has_other_dims {};

/// What is added to a tensor before it is normalised has the tensor's dimensions in its order: its shape is `Expected`, not `Given`.
template<class Expected, class Given>
struct addend_has_other_dims {};

/// Rows along a dimension: `centred` about their mean first (layer norm), or scaled only (RMS norm).
struct norm_steps {
  line_steps lines{};
  axis_set finished_over = 0;   // where other processes hold the rest of each row
  bool centred           = true;

  constexpr extent rows() const { return lines.outer * lines.inner; }
  constexpr extent elements() const { return rows() * lines.along; }
  /// Numbers that processes with parts of one row tell each other of it: sum and sum of squares, or the latter alone.
  constexpr extent numbers() const { return (centred ? 2 : 1) * rows(); }
};

constexpr norm_steps plan_norm(line_steps const& lines, axis_set finished_over, bool centred) { return {lines, finished_over, centred}; }

/// What a normalisation reads and writes. `mean` is not used where rows are not centred; `added` and `sum` only where something is added first.
template<class T>
struct norm_arrays {
  T const* x     = nullptr;
  T const* added = nullptr;
  T* sum         = nullptr;   // x + added: this is what is normalised
  T const* scale = nullptr;
  T const* bias  = nullptr;
  T* mean        = nullptr;
  T* rstd        = nullptr;   // 1 / standard deviation, of each row
  T* z           = nullptr;
};

/// Which gradients of a normalisation somebody wants; `adds`: that of x is added to another.
struct norm_wishes {
  bool x     = false;
  bool scale = false;
  bool bias  = false;
  bool adds  = false;
};

template<class T>
struct norm_gradient_arrays {
  T const* x      = nullptr;
  T const* mean   = nullptr;
  T const* rstd   = nullptr;
  T const* scale  = nullptr;
  T const* dz     = nullptr;
  T const* before = nullptr;   // is added to dx, and may be dx
  T* dx           = nullptr;
  T* dscale       = nullptr;
  T* dbias        = nullptr;
};

// Arithmetic steps, the same in the compiler and in a process.
constexpr extent moments_flops(norm_steps const& s, bool adds) { return s.elements() * ((s.centred ? 5 : 2) + (adds ? 1 : 0)); }
constexpr extent normalising_flops(norm_steps const& s) { return s.elements() * (s.centred ? 4 : 2); }
constexpr extent norm_sums_flops(norm_steps const& s, norm_wishes const& wants) {
  extent const row = wants.x ? (s.centred ? 4 : 3) : 0;
  return s.elements() * (row + (wants.x || wants.scale ? (s.centred ? 2 : 1) : 0) + (wants.scale ? 2 : 0) + (wants.bias ? 1 : 0));
}
constexpr extent norm_gradient_flops(norm_steps const& s, norm_wishes const& wants) {
  return wants.x ? s.elements() * ((s.centred ? 7 : 5) + (wants.adds ? 1 : 0)) : 0;
}

/// A normalisation of a tensor of shape `X` along `Along`.
template<Layout L, class X, class Along>
struct norm_plan {
  using row     = without<X, shape<Along>>;
  using verdict = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>>;

  template<bool Centred>
  static constexpr steps_under<L, norm_steps> steps =
      plan_norm(plan_lines(placed_dims<L, X>, dims_within<X, shape<Along>>[0]), split_over<L, X> & ~split_over<L, row>, Centred);

  /// What the gradients of scale and bias owe: each process has summed its own rows.
  static constexpr axis_set owed_by_scale = split_over<L, X> & ~split_over<L, shape<Along>>;
};

/// `legal`, or the objection to a normalisation along `Along` of a tensor of shape `X`, with a scale and biases of the shapes `Scale...`.
template<Layout L, class X, class Along, class... Scale>
using norm_verdict = first_objection<typename norm_plan<L, X, Along>::verdict,
                                     std::conditional_t<std::same_as<Scale, shape<Along>>, legal, scale_has_other_dims<shape<Along>, Scale>>...>;

}  // namespace meshtf::inline v0
