// The state that an optimizer keeps for each parameter.
#pragma once

#include <utility>

#include <meshtf/core/exchange.hpp>
#include <meshtf/tensor/parameter.hpp>

namespace meshtf {
inline namespace v0 {

/// A list of entries of different types, one for each parameter, so that an optimizer is a plain class. Like
/// the tape, an entry has a function pointer, and its payload is in a derived class: the two compilers do not
/// both support virtual destructors and `void*` in constant evaluation.
class optimizer_states {
public:
  constexpr optimizer_states() = default;
  constexpr optimizer_states(optimizer_states&& other) noexcept
      : first_(detail::exchange(other.first_, nullptr)) {
    other.rewind();
  }
  constexpr optimizer_states& operator=(optimizer_states&& other) noexcept {
    std::swap(first_, other.first_);
    rewind();
    other.rewind();
    return *this;
  }
  constexpr ~optimizer_states() {
    while (first_ != nullptr) {
      entry* const e = detail::exchange(first_, first_->next);
      e->destroy(e);
    }
  }

  /// Parameters come in the same order in every step, so the next parameter's state is the next entry.
  constexpr void rewind() { next_ = &first_; }

  /// The state of the parameter with these weights; the first call makes it with the machine and `arguments`.
  /// The weights stay where they are when a parameter moves.
  template<class State, class Machine, class Weights, class... A>
  constexpr State& of(Machine& m, Weights const& weights, A const&... arguments) {
    void const* const key = &weights;
    if (*next_ == nullptr || (*next_)->key != key) {
      entry** link = &first_;
      while (*link != nullptr && (*link)->key != key) link = &(*link)->next;
      if (*link == nullptr) *link = make<State>(m, key, arguments...);
      next_ = link;
    }
    auto& found = static_cast<entry_of<State>&>(**next_);
    next_       = &found.next;
    return found.state;
  }

  /// The state of the parameter with these weights; null if it has none yet.
  template<class State, class Weights>
  constexpr State const* find(Weights const& weights) const {
    void const* const key = &weights;
    for (entry const* e = first_; e != nullptr; e = e->next)
      if (e->key == key) return &static_cast<entry_of<State> const*>(e)->state;
    return nullptr;
  }

  template<class State, class Weights>
  constexpr State* find(Weights const& weights) {
    return const_cast<State*>(std::as_const(*this).template find<State>(weights));
  }

private:
  struct entry {
    entry* next;
    void const* key;  // the address of the weights
    void (*destroy)(entry*);
  };
  /// Counts the bytes of a state on its machine while the state lives.
  template<class Machine>
  struct counted {
    using size_type = typename detail::sizes_on<Machine>::type;
    Machine* machine;
    size_type bytes;

    constexpr counted(Machine& m, size_type b) : machine(&m), bytes(b) { m.count_optimizer_state(b); }
    counted(counted const&)        = delete;
    void operator=(counted const&) = delete;
    constexpr ~counted() { machine->count_optimizer_state(-bytes); }
  };
  template<class State>
  struct entry_of : entry {
    State state;
  };
  template<class State, class Machine>
  struct counted_entry_of : entry_of<State> {
    counted<Machine> bytes;
  };

  template<class State, class Machine, class... A>
  static constexpr entry* make(Machine& m, void const* key, A const&... arguments) {
    using made        = counted_entry_of<State, Machine>;
    auto const before = m.live_bytes();
    State state{m, arguments...};
    auto const bytes = m.live_bytes() - before;
    return new made{{{nullptr, key, [](entry* e) { delete static_cast<made*>(e); }}, std::move(state)},
                    {m, bytes}};
  }

  entry* first_ = nullptr;
  entry** next_ = &first_;
};

}  // namespace v0
}  // namespace meshtf
