// What a softmax cross entropy with integer targets will do, decided before it runs.
#pragma once

#include <meshtf/plan/lines.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace meshtf {
inline namespace v0 {

/// Targets name a class for each element of the logits' other dimensions, so their shape is `Expected`, not
/// `Given`.
template<class Expected, class Given>
struct targets_have_other_dims {};

namespace task {

/// z = the element of each line that the index names, in the type that is computed with; 0 if another process
/// holds it. Arrays: x, index, z.
template<Element T>
struct pick {
  using steps_type = line_steps;
  static constexpr meshtf::work work(line_steps const& s) {
    return {
        .kind  = "gather",
        .bytes = s.rows() * (extent{sizeof(T)} + extent{sizeof(computed<T>)} + extent{sizeof(std::int32_t)})};
  }
  void compute(line_steps const&, place_in_mesh const&, T const* x, std::int32_t const* index,
               computed<T>* z) const;
};

/// Adds `scale` times dz to the element of each line that the index names. Arrays: dz, index, dx.
template<Element T>
struct pick_gradient {
  using steps_type = line_steps;
  T scale{};

  static constexpr meshtf::work work(line_steps const& s) {
    return {.kind        = "gather",
            .elementwise = s.rows(),
            .bytes       = s.rows() * (3 * extent{sizeof(T)} + extent{sizeof(std::int32_t)})};
  }
  void compute(line_steps const&, place_in_mesh const&, T const* dz, std::int32_t const* index, T* dx) const;
};

/// Sets the element of each line that the index names to f(x, y, dz) + `scale` * dz, where y and dz are one
/// number a line: for narrow elements, to which nothing can be added without rounding twice. Arrays: x, y,
/// dz, index, dx.
template<class F, NarrowElement T>
struct set_picked {
  using steps_type = line_steps;
  F f;
  computed<T> scale{};

  static constexpr meshtf::work work(line_steps const& s) {
    return {.kind        = "gather",
            .elementwise = s.rows() * (1 + detail::flops_of<F>),
            .bytes       = s.rows() * (2 * extent{sizeof(T)} + 2 * extent{sizeof(computed<T>)} +
                                 extent{sizeof(std::int32_t)})};
  }
  void compute(line_steps const&, place_in_mesh const&, T const* x, computed<T> const* y,
               computed<T> const* dz, std::int32_t const* index, T* dx) const;
};

}  // namespace task

/// Logits of shape `X`, classes along `Class`, targets of shape `Targets`.
///
/// If the classes are split, no process gathers logits: a maximum is joined, then the sum of the exponentials
/// and the target's logit in one message. Each of these is one number for every target.
/// Source: Shoeybi et al., Megatron-LM (2019), section 3, parallel cross entropy.
template<Layout L, class X, class Class, class Targets>
struct cross_entropy_plan {
  using result  = without<X, shape<Class>>;
  using verdict = first_objection<
      detail::dims_are_in<X, Class>,
      std::conditional_t<std::same_as<result, Targets>, legal, targets_have_other_dims<result, Targets>>,
      placement_verdict_of<L, X>>;

  static constexpr steps_under<L, line_steps, X> lines = plan_steps<L, line_steps, X, Class>(arrays_of<X>{});
  static constexpr axis_set finished_over              = split_over<L, X> & ~split_over<L, result>;
};

/// `legal`, or the objection to `softmax_cross_entropy<Class>` of logits of shape `X` and targets of shape
/// `Targets`.
template<Layout L, class X, class Class, class Targets>
using cross_entropy_verdict = typename cross_entropy_plan<L, X, Class, Targets>::verdict;

}  // namespace v0
}  // namespace meshtf
