// How a recorded call is priced under a layout: by the plan that the layout's own type would have made, and
// the work of that plan.
#pragma once

#include <meshtf/search/record.hpp>
#include <meshtf/search/split_account.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

using call_figures = recorded_call::figures;

constexpr task_loops loops_under(layout_numbers const& l, undecided_loops const& undecided) {
  task_loops loops;
  loops.rank     = undecided.rank;
  loops.operand  = undecided.operand;
  loops.operands = undecided.operands;
  loops.along    = undecided.along;
  for (int i = 0; i < loops.rank; ++i)
    loops.dim[i] = {.size = undecided.dim[i].size, .parts = l.parts_of(undecided.dim[i])};
  return loops;
}

/// The price of a call of any task.
template<Task K>
constexpr call_figures price_of_task(recorded_call const& c, layout_numbers const& l) {
  auto const steps = plan_fullest<typename K::steps_type>(loops_under(l, c.loops));
  call_figures f;
  if constexpr (HasOptions<K>) f.does = K::from_bits(c.wishes).work(steps);
  else f.does = K::work(steps);
  if constexpr (NeedsScratch<K>) f.scratch = K::scratch(steps) * extent{sizeof(typename K::scratch_type)};
  return f;
}

/// What `P` asks for where dimensions are split. Its loops say over which axes.
template<class P>
constexpr void ask_in_parts(recorded_call const& c, layout_numbers const& l, split_account& m) {
  task_loops loops = loops_under(l, c.loops);
  for (int i = 0; i < loops.rank; ++i)
    for (axis_set over = l.split(c.loops.dim[i].open); over != 0; over &= over - 1)
      loops.dim[i].over.push_back(std::countr_zero(over));
  if (c.if_.pairs.count == 0) return P::ask(m, loops, c.numbers);
  P::ask(m, loops,
         {extent{l.split(static_cast<dim_set>(c.numbers[0]))},
          extent{l.split(static_cast<dim_set>(c.numbers[1]))}});
}

/// The price of a call whose work is a function of a number of elements.
template<auto Work>
constexpr call_figures price_of_elements(recorded_call const& c, layout_numbers const& l) {
  return {Work(l.local(c.n))};
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
