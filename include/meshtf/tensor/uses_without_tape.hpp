// Which values a function uses that is computed again in the backward pass.
#pragma once

#include <meshtf/core/exchange.hpp>
#include <meshtf/tensor/tensor.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Inside `recompute` no entry of the tape has a handle to the slot of an operand. The entry of the function
/// has those of parameters and of their linear images: they get terms of their gradients until it has run.
struct use_without_tape {
  void (*destroy)(use_without_tape*);
  void const* used;
  use_without_tape* next;
};

template<class T, class Machine>
struct held_use : use_without_tape {
  shared<slot<T, Machine>, Machine> held;
  Machine* m;

  static constexpr void destroy_this(use_without_tape* u) {
    auto* const me = static_cast<held_use*>(u);
    me->m->destroy(me);
  }
};

/// Holds the slot of `x` in the list of the machine, once.
template<class T, class Machine>
[[gnu::noinline]] constexpr void note_use(shard<T, Machine> const& x) {
  auto& m                  = x.machine();
  use_without_tape** first = m.uses_without_tape();
  if (first == nullptr || !x.needs_gradient() || !x.slot().stays_unreduced) return;
  void const* const used = &x.slot();
  for (use_without_tape* u = *first; u != nullptr; u = u->next)
    if (u->used == used) return;
  using made = held_use<T, Machine>;
  *first = m.template create<made>(use_without_tape{&made::destroy_this, used, *first}, x.slot_handle(), &m);
}

/// The uses of one function.
class uses_of_function {
public:
  constexpr uses_of_function() = default;
  constexpr uses_of_function(uses_of_function&& other) noexcept
      : first_(detail::exchange(other.first_, nullptr)) {}
  void operator=(uses_of_function const&) = delete;
  constexpr ~uses_of_function() {
    while (first_ != nullptr) {
      use_without_tape* const u = detail::exchange(first_, first_->next);
      u->destroy(u);
    }
  }

  /// While it lives, uses on the machine are noted here.
  template<class Machine>
  class noting {
  public:
    constexpr noting(Machine& m, uses_of_function& uses)
        : machine_(m), before_(detail::exchange(m.uses_without_tape(), &uses.first_)) {}
    noting(noting const&)         = delete;
    void operator=(noting const&) = delete;
    constexpr ~noting() { machine_.uses_without_tape() = before_; }

  private:
    Machine& machine_;
    use_without_tape** before_;
  };

private:
  use_without_tape* first_ = nullptr;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
