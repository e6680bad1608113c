// What both machines keep: the account of what a program costs, and the tape of what it did.
#pragma once

#include <utility>

#include <meshtf/plan/cost.hpp>

namespace meshtf::inline v0 {

/// Processes joined by MPI; <meshtf/runtime/process_mesh.hpp> defines it.
template<Mesh M>
class process_mesh;

/// Processes that exist only in constant evaluation; <meshtf/plan/ledger.hpp> defines it.
template<Mesh M>
class ledger;

namespace detail {

template<class L>
struct machine_for : std::type_identity<process_mesh<typename L::mesh_type>> {};
template<class L>
struct machine_for<dry<L>> : std::type_identity<ledger<typename L::mesh_type>> {};

}  // namespace detail

/// What runs the operations on tensors under `L`: processes, or under a dry layout the compiler's ledger, which notes their price.
template<Layout L>
using machine = typename detail::machine_for<L>::type;

/// An operation on the tape: how to go back through it. `leave` runs the operation's gradient if asked to, and destroys the entry.
///
/// A function pointer and a payload in a derived class are all that constant evaluation and a process have in common: g++ 12 and clang disagree on virtual
/// destructors, `void*` and `std::function` there.
struct tape_entry {
  tape_entry* before;
  void (*leave)(tape_entry*, bool run);
  call_site site;
};

namespace detail {

/// An entry with what an operation's gradient needs.
template<class Machine, class F>
struct tape_entry_of : tape_entry {
  Machine* machine;
  F run;
};

}  // namespace detail

/// The part of a machine that is the same in the compiler and in a process. `Self` is the machine.
template<class Self, Mesh M>
class accounts {
public:
  using mesh_type = M;

  constexpr accounts()            = default;
  accounts(accounts const&)       = delete;
  void operator=(accounts const&) = delete;

  // ---- where we are
  constexpr void enter(char const* operation, std::source_location at = {}) { now_ = {operation, at, false}; }
  constexpr call_site const& now() const { return now_; }

  // ---- whether operations are put on the tape
  constexpr bool records_gradients() const { return records_gradients_; }
  constexpr bool record_gradients(bool on) { return std::exchange(records_gradients_, on); }

  // ---- memory, in bytes requested
  constexpr extent live_bytes() const { return live_; }
  constexpr extent peak_bytes() const { return peak_; }
  /// The most there were since notes began.
  constexpr extent parameter_bytes() const { return most_parameters_; }
  constexpr void count_parameter(extent bytes) {
    parameters_ += bytes;
    if (parameters_ > most_parameters_) most_parameters_ = parameters_;
  }

  /// Puts `run` on the tape, under the name and line of the operation at work.
  template<class F>
  constexpr void put_on_tape(F run) {
    using entry   = detail::tape_entry_of<Self, F>;
    auto& self    = static_cast<Self&>(*this);
    auto const go = [](tape_entry* e, bool wanted) {
      struct destroyed_at_the_end {
        entry* me;
        constexpr ~destroyed_at_the_end() { me->machine->destroy(me); }
      } const guard{static_cast<entry*>(e)};
      if (wanted) guard.me->run();
    };
    last_ = self.template create<entry>(tape_entry{last_, go, now_}, &self, std::move(run));
  }

  /// Runs the tape backwards and leaves it empty; without `run` it is only dropped. If a gradient throws, the rest is dropped.
  constexpr void unwind_tape(bool run) {
    call_site const outside = now_;
    try {
      while (last_ != nullptr) {
        tape_entry* const e = std::exchange(last_, last_->before);
        now_                = e->site;
        now_.backward       = true;
        e->leave(e, run);
      }
    } catch (...) {
      while (last_ != nullptr) {
        tape_entry* const e = std::exchange(last_, last_->before);
        e->leave(e, false);
      }
      throw;
    }
    now_ = outside;
  }

  constexpr bool tape_is_empty() const { return last_ == nullptr; }

protected:
  constexpr ~accounts() = default;

  constexpr void count_bytes(extent bytes) {
    live_ += bytes;
    if (live_ > peak_) peak_ = live_;
  }

  constexpr void note_collective(collective kind, reduction how, element type, extent count, axis_set over) {
    if (notes_ == nullptr) return;
    extent const n     = processes_along(axis_sizes<M>, over);
    extent const bytes = count * bytes_of(type);
    notes_->note({kind, how, type, over, payload_of(kind, bytes, n) / bytes_of(type), payload_of(kind, bytes, n), sent_by_one(kind, bytes, n), now_});
  }
  constexpr void note(work const& w) {
    if (notes_ != nullptr) notes_->note(w);
  }
  /// What is noted, and the peaks, before somebody else took notes.
  struct notes_before {
    cost<M>* notes;
    extent peak, parameters;
  };
  /// From here on everything is noted in `notes`, and the peaks are counted anew.
  constexpr notes_before begin_notes(cost<M>* notes) {
    return {std::exchange(notes_, notes), std::exchange(peak_, live_), std::exchange(most_parameters_, parameters_)};
  }
  constexpr void end_notes(notes_before const& before) {
    notes_ = before.notes;
    if (before.peak > peak_) peak_ = before.peak;
    if (before.parameters > most_parameters_) most_parameters_ = before.parameters;
  }

private:
  tape_entry* last_       = nullptr;
  cost<M>* notes_         = nullptr;
  call_site now_          = {};
  extent live_            = 0;
  extent peak_            = 0;
  extent parameters_      = 0;
  extent most_parameters_ = 0;
  bool records_gradients_ = true;
};

}  // namespace meshtf::inline v0
