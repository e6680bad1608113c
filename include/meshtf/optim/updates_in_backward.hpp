// The work of backward(loss, opt, list): which parameters are updated during the backward pass, and when.
#pragma once

#include <source_location>
#include <string>
#include <type_traits>

#include <meshtf/core/error.hpp>
#include <meshtf/core/exchange.hpp>
#include <meshtf/optim/replica_parts.hpp>
#include <meshtf/optim/trained.hpp>
#include <meshtf/optim/treatment.hpp>
#include <meshtf/plan/bucket_plan.hpp>
#include <meshtf/tensor/counted.hpp>
#include <meshtf/tensor/parameters.hpp>

namespace meshtf {
inline namespace v0 {

/// The updates of `Optimizer` are scaled by norms, or go on after all of them; or it is a class of the
/// program that does not say that it updates each parameter alone (`using updates_alone = ...`, itself).
template<class Optimizer>
struct needs_all_gradients {};

namespace detail {

/// The backward pass of a step whose gradients are there already.
struct no_pass {};

/// An optimizer that can update each parameter alone. A class that derives from one has a step of its own,
/// so it says so again.
template<class Optimizer>
concept UpdatesAlone = std::is_same_v<typename Optimizer::updates_alone, Optimizer>;

[[noreturn]] inline void throw_needs_all_gradients(bool clips) {
  throw usage_error(
      std::string{clips ? "clipping (max_norm)" : "skip_if_not_finite"} +
      " needs all gradients: call backward(loss), then opt.step(list), instead of backward(loss, opt, list)");
}
[[noreturn]] inline void throw_updated_too_early() {
  throw software_error(
      "a parameter got a term of its gradient after backward(loss, opt, list) had updated it, since no entry "
      "of the tape said that it was still used: call backward(loss), then opt.step(list)");
}

/// The parameters of a list during a backward pass. `Step` updates one whose gradient is complete and shares
/// no message: Step::update_alone<T>(trained<T, Machine>&).
///
/// A gradient is complete when nothing on the tape has a handle to the slot. Nothing has one to the elements
/// either then, or the update would change what the tape still reads.
template<class Machine, class Step>
class updates_in_backward : public early_sums_hook {
public:
  template<class List>
  constexpr updates_in_backward(List const& list, Machine& m, Step& step, bool shares,
                                treatments const& treated, char const* name, std::source_location at)
      : early_sums_hook{&look, &nothing, &nothing, &takes_part, nullptr},
        machine_(m),
        step_(step),
        name_(name),
        site_(at) {
    entry** last = &waiting_;
    list.for_each([&, this]<class T, class L, class... D>(parameter<T, L, D...>& w) {
      if (w.handle()->is_absent()) return;
      *last = machine_.template create<entry_of<T>>(entry{&visit<T>}, trained_of(w, shares, treated),
                                                    &w.slot_handle(), &w.handle());
      last  = &(*last)->next;
    });
    next = detail::exchange(m.early_sums(), this);
  }
  updates_in_backward(updates_in_backward const&) = delete;
  void operator=(updates_in_backward const&)      = delete;
  constexpr ~updates_in_backward() {
    early_sums_hook** link = &machine_.early_sums();
    while (*link != this) link = &(*link)->next;
    *link = next;
    for (entry** list : {&waiting_, &updated_})
      while (*list != nullptr) {
        entry* const e = detail::exchange(*list, (*list)->next);
        e->visit(e, *this, work::destroy);
      }
  }

  /// Errors: `software_error` if a parameter that has been updated has a gradient again.
  constexpr void expect_all_in_time() {
    for (entry* e = updated_; e != nullptr; e = e->next)
      if (e->visit(e, *this, work::look_for_gradient)) throw_updated_too_early();
  }

private:
  enum class work { update_if_complete, look_for_gradient, destroy };

  /// A function pointer, as on the tape.
  struct entry {
    bool (*visit)(entry*, updates_in_backward&, work);
    entry* next = nullptr;
  };
  template<class T>
  struct entry_of : entry {
    trained<T, Machine> parameter;
    shared<detail::slot<T, Machine>, Machine> const* slot;
    shared<storage<T, Machine>, Machine> const* elements;
  };

  static constexpr void look(early_sums_hook* h) {
    auto& self = *static_cast<updates_in_backward*>(h);
    for (entry** link = &self.waiting_; *link != nullptr;) {
      entry* const e = *link;
      if (e->visit(e, self, work::update_if_complete)) {
        *link = detail::exchange(e->next, detail::exchange(self.updated_, e));
      } else {
        link = &e->next;
      }
    }
  }
  static constexpr void nothing(early_sums_hook*) {}
  static constexpr bool takes_part(early_sums_hook*, void const*) { return false; }

  template<class T>
  static constexpr bool visit(entry* e, updates_in_backward& all, work what) {
    auto* const own = static_cast<entry_of<T>*>(e);
    switch (what) {
      case work::update_if_complete: return all.update_if_complete(*own);
      case work::look_for_gradient: return bool(own->parameter.gradient.sum);
      case work::destroy: all.machine_.destroy(own);
    }
    return false;
  }

  template<class T>
  constexpr bool update_if_complete(entry_of<T>& e) {
    trained<T, Machine>& w = e.parameter;
    if (!w.gradient.sum || !e.slot->alone() || !e.elements->alone()) return false;
    // a pipeline's stages step what they hold, and all processes together what all have
    if (machine_.stage() >= 0 && w.weights.stage() != machine_.stage()) return false;
    if (w.settings.frozen) {
      w.drop_gradient();
    } else {
      if (waits_for_others(w)) return false;
      all_counted const all{machine_};
      machine_.begin_operation(name_, site_);
      step_.update_alone(w);
    }
    return true;
  }
  /// Whether its gradient, or its new weights, travel in a message with others: after the pass, as in a step.
  template<class T>
  static constexpr bool waits_for_others(trained<T, Machine> const& w) {
    return (w.parts.count > 1 || w.gradient.unreduced != 0) &&
           is_packed(w.parts.padded_size() * extent{sizeof(T)});
  }

  Machine& machine_;
  Step& step_;
  char const* name_;
  std::source_location site_;
  entry* waiting_ = nullptr;
  entry* updated_ = nullptr;
};

/// Runs `pass`, a backward pass, while `step` updates the parameters of the list one by one. What needs a
/// message with others is left. An exception discards the gradients.
template<class Pass, class List, class Machine, class Step>
constexpr void update_during(Pass const& pass, List const& list, Machine& m, Step& step, bool shares,
                             treatments const& treated, char const* name, std::source_location at) {
  if constexpr (!SumsEarly<Machine>) {
    pass();
  } else {
    try {
      updates_in_backward updates{list, m, step, shares, treated, name, at};
      pass();
      updates.expect_all_in_time();
    } catch (...) {
      zero_gradients(list);
      throw;
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
