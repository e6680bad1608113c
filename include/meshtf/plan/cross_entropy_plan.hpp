// What a softmax cross entropy with integer targets will do, decided before it runs.
#pragma once

#include <meshtf/plan/nest_plan.hpp>

namespace meshtf::inline v0 {

/// Targets name a class for each element of the logits' other dimensions: their shape is `Expected`, not `Given`.
template<class Expected, class Given>
struct targets_have_other_dims {};

/// Elements before, along and after a dimension in a row-major shard, and the axes that split it.
struct line_steps {
  extent outer = 1, along = 1, inner = 1;
  extent whole = 1;   // of all processes together
  axis_list over{};
};

constexpr line_steps plan_lines(std::span<placed const> dims, int along) {
  line_steps steps;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    placed const& d = dims[static_cast<std::size_t>(i)];
    if (i < along) steps.outer *= d.local_size();
    if (i > along) steps.inner *= d.local_size();
    if (i == along) steps.along = d.local_size(), steps.whole = d.size, steps.over = d.over;
  }
  return steps;
}

/// Logits of shape `X`, classes along `Class`, targets of shape `Targets`.
///
/// Where the classes are split, no process gathers logits: a maximum, then one message with the sum of the exponentials and the target's logit, each one
/// number for every target.
/// Source: Shoeybi et al., Megatron-LM (2019), section 3, parallel cross entropy.
template<Layout L, class X, class Class, class Targets>
struct cross_entropy_plan {
  using result = without<X, shape<Class>>;
  using verdict =
      first_objection<detail::dims_are_in<X, Class>,
                      std::conditional_t<std::same_as<result, Targets>, legal, targets_have_other_dims<result, Targets>>, placement_verdict_of<L, X>>;

  static constexpr steps_under<L, line_steps> lines = plan_lines(placed_dims<L, X>, dims_within<X, shape<Class>>[0]);
  static constexpr axis_set finished_over           = split_over<L, X> & ~split_over<L, result>;
};

/// `legal`, or the objection to `softmax_cross_entropy<Class>` of logits of shape `X` and targets of shape `Targets`.
template<Layout L, class X, class Class, class Targets>
using cross_entropy_verdict = typename cross_entropy_plan<L, X, Class, Targets>::verdict;

}  // namespace meshtf::inline v0
