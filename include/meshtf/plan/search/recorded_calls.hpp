// How a recorded call is priced under a layout: the plan that a layout's own type would have made, and its work.
#pragma once

#include <meshtf/plan/search/record.hpp>

namespace meshtf::inline v0::detail {

using call_figures = recorded_call::figures;

template<class F, class R, class... T>
constexpr call_figures price_of_map(recorded_call const& c, layout_numbers const& l) {
  return {work_of::map<F, R, T...>(plan_nest(c.sizes(l), c.operands()))};
}
template<class F, class R, class... T>
constexpr call_figures price_of_reduce(recorded_call const& c, layout_numbers const& l) {
  return {work_of::reduce<F, R, T...>(plan_nest(c.sizes(l), c.operands()))};
}
template<class T>
constexpr call_figures price_of_contract(recorded_call const& c, layout_numbers const& l) {
  auto const& operand           = c.loops.operand;
  contraction_steps const steps = plan_contraction(c.sizes(l), operand[0], operand[1], operand[2]);
  return {work_of::contract<T>(steps), steps.scratch * extent{sizeof(T)}};
}
constexpr attention_steps attention_of(recorded_call const& c, layout_numbers const& l) {
  return plan_attention(std::span<extent const>(c.sizes(l)), c.loops.operand, c.along[0], c.along[1], c.along[2], (c.options & 8) != 0);
}
constexpr attention_wishes attention_wishes_of(recorded_call const& c) { return {(c.options & 1) != 0, (c.options & 2) != 0, (c.options & 4) != 0}; }
template<class T>
constexpr call_figures price_of_attention(recorded_call const& c, layout_numbers const& l) {
  attention_steps const steps = attention_of(c, l);
  return {work_of::attend<T>(steps), attention_scratch(steps) * extent{sizeof(T)}};
}
template<class T>
constexpr call_figures price_of_attention_gradient(recorded_call const& c, layout_numbers const& l) {
  attention_steps const steps = attention_of(c, l);
  return {work_of::attention_gradient<T>(steps, attention_wishes_of(c)), attention_gradient_scratch(steps) * extent{sizeof(T)}};
}
/// Calls whose work is a function of a number of elements, or of lines.
template<auto Work>
constexpr call_figures price_of_elements(recorded_call const& c, layout_numbers const& l) {
  return {Work(l.local(c.n))};
}
template<auto Work>
constexpr call_figures price_of_rows(recorded_call const& c, layout_numbers const& l) {
  return {Work(l.local(c.rows), l.local(c.n))};
}
template<auto Work>
constexpr call_figures price_of_lines(recorded_call const& c, layout_numbers const& l) {
  return {Work(c.lines(l))};
}
template<auto Work>
constexpr call_figures price_of_rows_by_index(recorded_call const& c, layout_numbers const& l) {
  return {Work(c.lines(l), l.local(c.n))};
}
/// Of a normalisation: `options` are the wishes of its gradient, whether it adds, and whether rows are centred.
constexpr unsigned centred_option = 16;
constexpr unsigned options_of(norm_wishes const& w) { return (w.x ? 1U : 0U) | (w.scale ? 2U : 0U) | (w.bias ? 4U : 0U) | (w.adds ? 8U : 0U); }
constexpr norm_wishes norm_wishes_of(recorded_call const& c) {
  return {(c.options & 1) != 0, (c.options & 2) != 0, (c.options & 4) != 0, (c.options & 8) != 0};
}
constexpr norm_steps norm_steps_of(recorded_call const& c, layout_numbers const& l) { return {c.lines(l), 0, (c.options & centred_option) != 0}; }
template<auto Work>
constexpr call_figures price_of_norm(recorded_call const& c, layout_numbers const& l) {
  if constexpr (requires { Work(norm_steps{}); }) return {Work(norm_steps_of(c, l))};
  else if constexpr (requires { Work(norm_steps{}, true); }) return {Work(norm_steps_of(c, l), (c.options & 8) != 0)};
  else return {Work(norm_steps_of(c, l), norm_wishes_of(c))};
}

}  // namespace meshtf::inline v0::detail
