// What the tape keeps while a function runs under `spill` is noted here, to leave for the file.
#pragma once

#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A handle to an array that a scope spills.
template<class T, class Machine>
struct spilled_storage : spilled_array {
  using handle_type = shared<storage<T, Machine>, Machine>;
  Machine* machine;
  handle_type array;

  static constexpr void act_on(spilled_array* a, move m) {
    auto* const me = static_cast<spilled_storage*>(a);
    me->array->act(m, extent{sizeof(T)});
    if (m == move::drop) me->machine->destroy(me);
  }
};

template<class T, class Machine>
[[gnu::noinline]] constexpr void note_in_scope(shard<T, Machine> const& x, spilled_scope& scope) {
  using noted        = spilled_storage<T, Machine>;
  auto& m            = x.machine();
  auto const& array  = x.handle();
  extent const bytes = m.bytes_in_scope(array->size() * extent{sizeof(T)});
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
  if constexpr (can_spill<Machine> && element_traits<T>::is_floating)
    if (spilled_scope* const scope = x.machine().spilled().open; scope != nullptr) [[unlikely]]
      note_in_scope(x, *scope);
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
