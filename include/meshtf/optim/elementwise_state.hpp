// What an optimizer that updates each element by itself keeps of one parameter.
#pragma once

#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/spilled_state.hpp>
#include <meshtf/tensor/spilled.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A record of all layouts does not know how many replicas share a state.
template<class Machine>
inline constexpr bool can_spill_state = can_spill<Machine> && !is_told_who_leaves<Machine>;

/// One or two arrays, zeros at first.
//
// Two handles and no std::array of them: in constant evaluation g++ 12 miscounts handles in a std::array.
template<int Arrays, class T, class Machine>
struct elementwise_state : spilled_state {
  using handle     = shared<storage<T, Machine>, Machine>;
  using parts_type = parts_on<Machine>;
  parts_type parts;
  unsigned collected_in = 0;  // the step in which the slot got this process's part of the finished gradient
  handle first;
  handle second;

  constexpr elementwise_state(Machine& m, parts_type const& p)
      : spilled_state{&act_on}, parts(p), first(zeros(m, p)) {
    if constexpr (Arrays == 2) second = zeros(m, p);
  }
  static constexpr handle zeros(Machine& m, parts_type const& p) {
    handle made = handle::make(m, m, p.part());
    m.fill(p.part(), T{}, made->data());
    return made;
  }
  constexpr bool spills(Machine& m) const {
    if constexpr (can_spill_state<Machine>) return first->size() * extent{sizeof(T)} >= m.spilled().min_bytes;
    else throw "meshtf: an optimizer with spill_state can't be recorded without a layout yet";
  }
  static constexpr void act_on([[maybe_unused]] spilled_state* s, [[maybe_unused]] spilled_state::move m) {
    if constexpr (can_spill_state<Machine>) {
      auto* const me = static_cast<elementwise_state*>(s);
      me->first->act(m, extent{sizeof(T)});
      if constexpr (Arrays == 2) me->second->act(m, extent{sizeof(T)});
    }
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
