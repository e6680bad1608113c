// What the tape keeps while a function runs under `spill` is noted here, to leave for the file.
#pragma once

#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

template<class T, class Machine>
constexpr void move_storage(storage<T, Machine>& array, spilled_array::move m) {
  switch (m) {
    case spilled_array::move::leave: return array.begin_to_leave();
    case spilled_array::move::be_gone: return array.be_gone();
    case spilled_array::move::begin_return: return array.begin_to_return();
    case spilled_array::move::be_back: return array.come_back();
    case spilled_array::move::drop: return array.note(false);
  }
}

/// A handle to an array that a scope spills.
template<class T, class Machine>
struct spilled_storage : spilled_array {
  using handle_type = shared<storage<T, Machine>, Machine>;
  Machine* machine;
  handle_type array;

  static constexpr void act_on(spilled_array* a, move m) {
    auto* const me = static_cast<spilled_storage*>(a);
    move_storage(*me->array, m);
    if (m == move::drop) me->machine->destroy(me);
  }
};

template<class T, class Machine>
[[gnu::noinline]] constexpr void note_in_scope(shard<T, Machine> const& x, spilled_scope& scope) {
  using noted        = spilled_storage<T, Machine>;
  auto& m            = x.machine();
  auto const& array  = x.handle();
  extent const bytes = array->size() * extent{sizeof(T)};
  if (!m.keeps_tape() || !x.needs_gradient() || x.gradient_stays_unreduced()) return;
  if (array->is_noted() || array->is_absent() || bytes < m.spilled().min_bytes) return;
  array->note(true);
  scope.add(m.template create<noted>(spilled_array{noted::act_on, &*array, bytes}, &m, array));
}

/// The tape keeps `x`: inside `spill` it leaves for the file when the function has returned, if it is long
/// enough and was computed from parameters by more than a linear image of one. So data, which many functions
/// read, and parameters stay.
template<class T, class Machine>
constexpr void note_for_spilling(shard<T, Machine> const& x) {
  if constexpr (can_spill<Machine>)
    if (spilled_scope* const scope = x.machine().spilled().open; scope != nullptr) [[unlikely]]
      note_in_scope(x, *scope);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
