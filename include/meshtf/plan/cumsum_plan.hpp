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

/// Lines, and the number of parts in which processes have them.
struct cumsum_steps {
  line_steps lines{};
  extent parts = 1;

  // unless the operation asks whether the lines are split, since that decides what is sent
  static constexpr bool needs_whole = true;

  /// It uses the first array, and asks for the loop along the lines.
  static constexpr cumsum_steps plan(task_loops const& l, loop_extents const& e) {
    return {line_steps::plan(l, e), l.dim[l.along[0]].parts};
  }
  constexpr extent elements() const { return lines.rows() * lines.along; }
};

namespace task {

/// z[i] = x[0] + ... + x[i] of each line, or products; in `reverse` x[i] + ... + x[n - 1]; `exclusive`
/// without x[i]. Arrays: x, z.
template<reduction Op, Element T>
struct run_along {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {.kind = "reduction", .elementwise = s.elements(), .bytes = 2 * s.elements() * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* x, T* z) const;
};

template<Element T>
using cumsum = run_along<reduction::sum, T>;
template<Element T>
using cumprod = run_along<reduction::product, T>;

/// The gradient of the running products z of x: dx[i] = x[0] * ... * x[i - 1] * s[i], where s[i] = dz[i] +
/// x[i + 1] * s[i + 1]. Nothing is divided, so zeros do no harm. Arrays: x, dz, dx.
template<Element T>
struct cumprod_gradient {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {
        .kind = "reduction", .elementwise = 4 * s.elements(), .bytes = 3 * s.elements() * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* x, T const* dz, T* dx) const;
};

// The same where processes have parts of the lines.

/// Goes on from what comes from the parts before (in `reverse`, after) this one. Arrays: x, an element for
/// each line, z.
template<reduction Op, Element T>
struct run_on {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = s.elements(),
            .bytes       = (2 * s.elements() + s.lines.rows()) * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* x, T const* before, T* z) const;
};

/// The gradient's recurrence through a part is s -> factor * s + addend. Arrays: x, dz, the factors of all
/// lines and after them the addends.
template<Element T>
struct fold_products {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = 3 * s.elements(),
            .bytes       = 2 * (s.elements() + s.lines.rows()) * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* x, T const* dz, T* folded) const;
};

/// What comes to this part through those after (in `reverse`, before) it. Arrays: the factors and addends of
/// all processes, an element for each line.
template<Element T>
struct pass_through_parts {
  using steps_type = cumsum_steps;
  axis_list over{};
  bool reverse = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = 2 * s.parts * s.lines.rows(),
            .bytes       = (2 * s.parts + 1) * s.lines.rows() * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* folded, T* later) const;
};

/// The gradient with what comes from both sides. Arrays: x, the products before, what comes from later
/// elements, dz, dx.
template<Element T>
struct cumprod_gradient_on {
  using steps_type = cumsum_steps;
  bool reverse     = false;
  bool exclusive   = false;

  static constexpr meshtf::work work(cumsum_steps const& s) {
    return {.kind        = "reduction",
            .elementwise = 4 * s.elements(),
            .bytes       = (3 * s.elements() + 2 * s.lines.rows()) * extent{sizeof(T)}};
  }
  void compute(cumsum_steps const&, place_in_mesh const&, T const* x, T const* before, T const* later,
               T const* dz, T* dx) const;
};

}  // namespace task

namespace detail {}  // namespace detail

/// Running sums or products of a tensor of shape `X` along `Along`.
///
/// If `Along` is split, a scan over `over` tells each process what the parts before its own are joined to.
template<Layout L, class X, class Along>
struct cumsum_plan {
  using each_line = without<X, shape<Along>>;
  using verdict   = first_objection<detail::dims_are_in<X, Along>, placement_verdict_of<L, X>>;

  static constexpr steps_under<L, cumsum_steps, X> lines =
      plan_steps<L, cumsum_steps, X, Along>(arrays_of<X>{});

  /// Whether processes have parts of a line, or may have them.
  static constexpr bool in_parts = split_over<L, shape<Along>> != 0;
  /// The axes that split the dimension and join more than one process.
  static constexpr axis_list over = [] {
    axis_list joining;
    if constexpr (in_parts)
      for (int axis : always_placed<L, Along>.over)
        if (detail::among(joining_axes<typename L::mesh_type>, axis)) joining.push_back(axis);
    return joining;
  }();
};

/// `legal`, or the objection to `cumsum<Along>` or `cumprod<Along>` of a tensor of shape `X`.
template<Layout L, class X, class Along>
using cumsum_verdict = typename cumsum_plan<L, X, Along>::verdict;

}  // namespace v0
}  // namespace meshtf
