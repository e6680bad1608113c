// hand_on: the end of one stage of a pipeline and the begin of the next.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/ops/function/at_stage.hpp>
#include <meshtf/tensor/operation.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// The elements of a message live until it has been received.
template<class Machine, class T>
struct elements_in_flight : message_in_flight {
  Machine* m;
  shared<storage<T, Machine>, Machine> elements;
  typename Machine::request_type request{};

  static constexpr void end_this(message_in_flight* e) {
    auto* const me = static_cast<elements_in_flight*>(e);
    me->m->end_handing_on(me->request);
    me->m->destroy(me);
  }
};

/// Waits until what this stage has sent in this direction has been received.
template<class Machine>
constexpr void end_messages(Machine& m, bool back) {
  message_in_flight*& latest = m.in_flight(back);
  while (latest != nullptr) {
    auto* const e = detail::exchange(latest, latest->before);
    e->end(e);
  }
}

/// Sends `elements` to stage `to`, after the messages of earlier passes in this direction have been received:
/// `in_flight<1>` of the schedule.
template<class T, class Machine>
constexpr void send_to_stage(Machine& m, shared<storage<T, Machine>, Machine> const& elements, int to,
                             bool back) {
  using entry                = elements_in_flight<Machine, T>;
  message_in_flight*& latest = m.in_flight(back);
  if (latest != nullptr && latest->pass != m.pass()) end_messages(m, back);
  auto* const e =
      m.template create<entry>(message_in_flight{&entry::end_this, latest, m.pass()}, &m, elements);
  m.begin_handing_on(static_cast<T const*>(elements->data()), elements->size(), m.stages_over(), to, back,
                     e->request);
  latest = e;
}

/// On the tape of the stage that handed `x` on: its gradient comes from stage `from`.
template<class X>
struct gradient_from_stage : tape_entry {
  X x;  // without its elements
  int from;

  static constexpr void run_backward(tape_entry* e) {
    auto* const me = static_cast<gradient_from_stage*>(e);
    auto& m        = me->x.machine();
    auto dx        = X::uninitialised(m);
    m.receive_handed_on(dx.data(), X::size, m.stages_over(), me->from, true);
    contribute(me->x, dx);
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me = static_cast<gradient_from_stage*>(e);
    me->x.machine().destroy(me);
  }
};

/// On the tape of the stage that got `z`: its gradient goes to stage `to`, which waits for it, so zeros go if
/// nothing has used z.
template<class Z>
struct gradient_to_stage : tape_entry {
  Z z;  // without its elements
  int to;

  static constexpr void run_backward(tape_entry* e) {
    auto* const me = static_cast<gradient_to_stage*>(e);
    auto& m        = me->z.machine();
    auto& slot     = me->z.slot();
    if (!slot.sum) slot.sum = Z{m}.handle();
    Z dz{m, std::move(slot.sum)};
    finish_in_place(dz, slot.unreduced, slot.why);
    send_to_stage<typename Z::element_type>(m, dz.handle(), me->to, true);
  }
  static constexpr void destroy_this(tape_entry* e) {
    auto* const me        = static_cast<gradient_to_stage*>(e);
    me->z.slot().consumed = true;
    me->z.machine().destroy(me);
  }
};

/// x of stage `from` as a value of the next one, which works from here on.
template<class T, class L, class... D>
constexpr tensor<T, L, D...> to_next_stage(tensor<T, L, D...> const& x, int from) {
  using value       = tensor<T, L, D...>;
  auto& m           = x.machine();
  int const to      = from + 1;
  auto const mine   = m.template coordinate<stage_axis<L>>();
  bool const wanted = wants_gradient(x);
  work_on_stage<L>(m, from);
  if (mine == from) {
    send_to_stage<T>(m, x.handle(), to, false);
    if constexpr (FloatingElement<T>) {
      using entry = gradient_from_stage<value>;
      if (wanted)
        m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this},
                                               x.without_value(), to));
    }
  }
  work_on_stage<L>(m, to);
  auto z = value::uninitialised(m);
  if (mine == to) m.receive_handed_on(z.data(), z.size, m.stages_over(), from, false);
  if constexpr (FloatingElement<T>) {
    using entry = gradient_to_stage<value>;
    if (wanted) {
      z.need_gradient(false);
      if (mine == to)
        m.put_on_tape(m.template create<entry>(tape_entry{entry::run_backward, entry::destroy_this},
                                               z.without_value(), from));
      else z.slot().consumed = true;
    }
  }
  return z;
}

[[noreturn]] void throw_handed_back(call_site const& site, int from, int to);
[[noreturn]] void throw_handed_on_outside(call_site const& site);

#if MESHTF_DEFINES_RUNTIME

[[noreturn]] MESHTF_DEFINE void throw_handed_back(call_site const& site, int from, int to) {
  throw software_error(spelled_site(site) + " expected a later stage than " + std::to_string(from) +
                       ", got " + std::to_string(to) + ": stages work in the order of their numbers");
}
[[noreturn]] MESHTF_DEFINE void throw_handed_on_outside(call_site const& site) {
  throw software_error(
      spelled_site(site) +
      " outside of accumulate: stages work in turn in accumulate<M>(m, step), also to evaluate "
      "(with no_gradient)");
}

#endif

}  // namespace detail

/// `x` for stage `to`, which works on the program from here on. Under a layout without stages, and if `x` is
/// of this stage already, it is `x`.
///
/// Shapes and layouts stay. It sends the shard of each process to that of the same place in the next stage; a
/// value that is handed on over several stages passes through each. The message is in flight while the next
/// pass computes: `in_flight`. Gradient: handed back to the stage that made `x`, zeros if nothing used it.
///
///     x = hand_on(x, 1);
///
/// Errors: `software_error` if `to` is before the stage of `x`, outside of `accumulate`, and in a function
/// that `recompute` or `custom_gradient` calls.
/// Source: Huang et al., GPipe (2019); send and receive as in Megatron-LM (2021).
template<Element T, class L, class... D>
constexpr tensor<T, L, D...> hand_on(tensor<T, L, D...> const& x, extent to,
                                     std::source_location at = std::source_location::current()) {
  if constexpr (!is_staged<L>) {
    return x;
  } else {
    auto& m        = x.machine();
    int const last = static_cast<int>(to);
    if (m.stage() == last && x.handle()->stage() == last) return x;  // within a stage: most calls of a model
    m.begin_operation("hand_on", at);
    if (m.stage() < 0) detail::throw_handed_on_outside(m.now());
    if (last >= stage_count<L>) detail::throw_handed_back(m.now(), stage_count<L> - 1, last);
    // what all processes have was made before the stages began: it is everywhere
    int const from = x.handle()->stage() < 0 ? last : x.handle()->stage();
    if (last < from || last < m.stage()) detail::throw_handed_back(m.now(), from, last);
    auto z = x;
    for (int k = from; k < last; ++k) z = detail::to_next_stage(z, k);
    detail::work_on_stage<L>(m, last);
    return z;
  }
}

MESHTF_ACCEPT_REJECTED(hand_on)

}  // namespace v0
}  // namespace meshtf
