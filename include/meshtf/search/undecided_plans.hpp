// Plans under an undecided layout: loops over dimensions whose parts are not known, for whoever names a
// layout.
#pragma once

#include <meshtf/core/undecided_layout.hpp>
#include <meshtf/plan/halo_plan.hpp>
#include <meshtf/plan/nest_plan.hpp>
#include <meshtf/plan/reason.hpp>
#include <meshtf/plan/task.hpp>

namespace meshtf {
inline namespace v0 {

/// The loops of a task over dimensions whose parts are not known.
using undecided_loops = loops_over<undecided_dim>;

/// Steps under an undecided layout: the loops from which they will be planned.
template<class Steps>
struct undecided_steps {
  undecided_loops loops{};
};

/// `all_into_one` for a count that depends on the layout.
constexpr undecided_steps<nest_steps> all_into_one(undecided_size const& n) {
  dim_list one;
  one.push_back(0);
  undecided_steps<nest_steps> steps;
  steps.loops.add_dim({n.whole, n.dims});
  steps.loops.add_array(one);
  steps.loops.add_array({});
  return steps;
}

namespace detail {

template<class... Open>
struct planning_under<undecided_layout<Open...>> {
  template<class Steps, class Loops>
  using type = undecided_steps<Steps>;

  template<class Steps>
  static constexpr undecided_steps<Steps> plan(undecided_loops const& loops) {
    return {loops};
  }
};

/// Its dimensions have names but no parts.
template<class... Open, class... D>
struct names_in<undecided_layout<Open...>, shape<D...>> {
  static constexpr named_dims value{};
};

/// A dimension with its halo is as whole as the dimension may be.
template<class... Open, class D, extent Before, extent After, extent Parts>
struct axes_lookup<undecided_layout<Open...>, haloed<D, Before, After, Parts>> : std::type_identity<axes<>> {
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
