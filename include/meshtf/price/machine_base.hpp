// What all machines keep: the record of a program's cost, and the tape of its operations.
#pragma once

#include <source_location>
#include <utility>

#include <meshtf/core/counts.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/exchange.hpp>
#include <meshtf/price/cost.hpp>
#include <meshtf/price/spilled.hpp>

namespace meshtf {
inline namespace v0 {

struct tape_entry;

namespace detail {

/// A value of the first stage that the last has too (nn/twin.hpp): it is sent before the first micro-batch,
/// and its gradient comes back after the last.
struct stage_copy {
  void (*send)(stage_copy*);
  void (*end_send)(stage_copy*);
  void (*give_back)(stage_copy*);
  stage_copy* next = nullptr;
};

/// Sums of gradients that begin during the backward pass (optim/early_sums.hpp).
struct early_sums_hook {
  void (*look)(early_sums_hook*);    // after each entry of the tape: begins what is ready
  void (*finish)(early_sums_hook*);  // after the last: waits for what has begun
  void (*drop)(early_sums_hook*);    // an exception ended the pass
  // whether the gradient in this slot has been added up, in this process's part alone
  bool (*takes_part)(early_sums_hook*, void const* slot);
  early_sums_hook* next = nullptr;
};

/// An operand of a function that is computed again in the backward pass (tensor/uses_without_tape.hpp).
struct use_without_tape;

/// The weights of a block that travel in one message (tensor/packed_weights.hpp).
struct packed_weights;

/// A value that a stage has handed on: `end` waits until it has been received, and destroys it.
struct message_in_flight {
  void (*end)(message_in_flight*);
  message_in_flight* before = nullptr;
  long pass                 = 0;  // in which it was sent
};

}  // namespace detail

/// An operation on the tape: its backward function, and the function that destroys the entry.
///
/// A function pointer and a payload in a derived class work in constant evaluation and in a process. g++ 12
/// and clang disagree there on virtual destructors, `void*` and `std::function`.
struct tape_entry {
  void (*backward)(tape_entry*);  // contributes to the gradients of the operands
  void (*destroy)(tape_entry*);
  tape_entry* before = nullptr;
  call_site site     = {};
  unsigned counted   = 0;  // the number of the counts under which it ran
};

/// The part of a machine that is the same in the compiler and in a process. `Self` is the machine.
template<class Self, Mesh M>
class machine_base {
public:
  using mesh_type = M;

  constexpr machine_base()            = default;
  machine_base(machine_base const&)   = delete;
  void operator=(machine_base const&) = delete;

  // ---- reference counts, slots and tape entries, which are not part of the price; a mesh of processes has
  // memory of its own for them
  template<class T, class... A>
  constexpr T* create(A&&... arguments) {
    return new T{std::forward<A>(arguments)...};
  }
  template<class T>
  constexpr void destroy(T* p) {
    delete p;
  }
  template<class T>
  constexpr T* create_array(std::size_t n) {
    return new T[n]{};
  }
  template<class T>
  constexpr void destroy_array(T* p, std::size_t) {
    delete[] p;
  }

  // ---- the current operation
  constexpr void begin_operation(char const* operation, std::source_location at = {}, bool backward = false) {
    now_ = {operation, at, backward};
    why_ = nullptr;
  }
  [[deprecated("use begin_operation")]] constexpr void enter(char const* operation,
                                                             std::source_location at = {}) {
    begin_operation(operation, at);
  }
  constexpr call_site const& now() const { return now_; }
  /// Begins an optimizer's step. The result is a guard: it increments the step count on scope exit, also by
  /// an exception.
  [[nodiscard]] constexpr auto begin_step(char const* operation, std::source_location at) {
    begin_operation(operation, at);
    if (stage_ >= 0)
      throw software_error(
          "an optimizer steps while a stage works: call its step after accumulate<M>(m, step)");
    return step_in_turn{steps_};
  }
  [[nodiscard, deprecated("use begin_step")]] constexpr auto enter_step(char const* operation,
                                                                        std::source_location at) {
    return begin_step(operation, at);
  }
  /// The number of the optimizer's step that the mesh is in, from 1: it ends with the step of that number.
  constexpr long step() const { return steps_ + 1; }
  /// Why the next collectives of this operation are called.
  constexpr void because(collective_reason const* why) { why_ = why; }

  // ---- whether operations are put on the tape
  constexpr bool records_gradients() const { return records_gradients_; }
  constexpr bool record_gradients(bool on) { return detail::exchange(records_gradients_, on); }
  /// Without a tape, results still say whether they need a gradient, but nothing is kept for it: it will be
  /// computed again.
  constexpr bool keeps_tape() const { return keeps_tape_; }
  constexpr bool keep_tape(bool on) { return detail::exchange(keeps_tape_, on); }
  /// Where the operands are noted of what is computed without a tape, and will be computed again; null:
  /// nowhere.
  constexpr detail::use_without_tape**& uses_without_tape() { return uses_; }
  /// Whether this is the second time, in a backward pass, that a function is computed.
  constexpr bool recomputes() const { return recomputes_; }
  constexpr bool recompute(bool on) { return detail::exchange(recomputes_, on); }

  // ---- stages of a pipeline
  /// The stage that works on the present part of the program; -1: all processes work on it.
  constexpr int stage() const { return stage_; }
  /// Whether this process is of another stage than that: it allocates, computes, sends and notes nothing.
  constexpr bool idles() const { return idles_; }
  /// The axis along which stages lie, as a set, from the first time that one works.
  constexpr axis_set stages_over() const { return stages_over_; }
  /// From here on `stage` works, of those along `over`; `idles`: this process is of another.
  constexpr void work_on(int stage, bool idles, axis_set over) {
    stage_      = stage;
    idles_      = idles;
    keeps_tape_ = !idles;
    if (over != 0) stages_over_ = over;
  }
  /// Puts the tape of another micro-batch in the place of this one, which it returns.
  constexpr tape_entry* exchange_tape(tape_entry* other) {
    scopes_.last = nullptr;  // scopes of one tape are read ahead of each other
    return detail::exchange(last_, other);
  }
  /// Another forward or backward pass begins. What was sent in the one before may still be in flight; it ends
  /// when this one first sends in the same direction.
  constexpr void begin_pass(bool backward, int /*micro_batch*/) {
    ++pass_;
    in_backward_pass_ = backward;
  }
  constexpr void end_passes() { begin_pass(false, -1); }
  constexpr bool in_backward_pass() const { return in_backward_pass_; }
  constexpr long pass() const { return pass_; }
  /// The messages that this stage has sent to a later stage, or (`back`) to an earlier one.
  constexpr detail::message_in_flight*& in_flight(bool back) { return in_flight_[back ? 1 : 0]; }

  constexpr detail::stage_copy*& stage_copies() { return stage_copies_; }

  // ---- sums of gradients that begin during the backward pass
  constexpr detail::early_sums_hook*& early_sums() { return early_sums_; }
  /// Whether more terms of the gradients follow after this backward pass, so that nothing is summed yet.
  constexpr bool more_terms_follow(bool yes) { return detail::exchange(more_terms_follow_, yes); }

  // ---- arrays that leave for a file
  constexpr detail::spilled_scopes& spilled() { return scopes_; }
  /// The bytes of an array that decide whether it leaves, and how far is read ahead.
  static constexpr extent bytes_in_scope(extent bytes) { return bytes; }
  /// Arrays of fewer bytes stay in memory, where `spill` and `spill_state` send others away; 64 KiB unless
  /// said otherwise. Returns what it was.
  constexpr extent spill_from(extent bytes) { return detail::exchange(scopes_.min_bytes, bytes); }

  /// The blocks whose weights are gathered together at present, the innermost first.
  constexpr detail::packed_weights*& packed_weights() { return packed_weights_; }

  // ---- how many elements there are of counted dimensions
  /// Counts by number. Number 0: as many elements as are allocated. Equal counts have one number, so
  /// plans may be kept by it.
  constexpr counts const& counted(unsigned number) const {
    if (number == 0) return all_full_;
    known_counts const* k = known_;
    while (k->number != number) k = k->before;
    return k->values;
  }
  constexpr counts const& counted() const { return counted(counted_now_); }
  constexpr unsigned counted_number() const { return counted_now_; }
  /// For a guard, which does not know the type of its machine and puts the number back.
  constexpr unsigned& place_of_counted_number() { return counted_now_; }
  /// From here on the counts are these; returns the number of those before.
  constexpr unsigned count(unsigned number) { return detail::exchange(counted_now_, number); }
  constexpr unsigned count(counts const& c) {
    known_counts const* k = known_;
    while (k != nullptr && !(k->values == c)) k = k->before;
    if (k == nullptr) k = known_ = new known_counts{c, known_ == nullptr ? 1 : known_->number + 1, known_};
    return count(k->number);
  }

  // ---- memory, in bytes requested
  constexpr extent live_bytes() const { return live_; }
  constexpr extent peak_bytes() const { return peak_; }
  /// The most parameter bytes since notes began.
  constexpr extent parameter_bytes() const { return max_parameters_; }
  constexpr void count_parameter(extent bytes) {
    parameters_ += bytes;
    if (parameters_ > max_parameters_) max_parameters_ = parameters_;
  }
  /// The most bytes of optimizer state since notes began.
  constexpr extent optimizer_bytes() const { return max_optimizer_; }
  constexpr void count_optimizer_state(extent bytes) {
    optimizer_ += bytes;
    if (optimizer_ > max_optimizer_) max_optimizer_ = optimizer_;
  }

  // ---- what depends on the layout alone
  /// Calls `joined` if axes of `over` join processes, otherwise `alone`. A machine without a layout calls
  /// both, and notes which is which.
  template<class F, class G>
  constexpr void if_joined(axis_set over, F const& joined, G const& alone) {
    if (over != 0) joined();
    else alone();
  }
  /// For what can't be done both ways: a machine without a layout refuses it if `over` may join processes.
  constexpr void must_know(axis_set) const {}
  /// The operation needs this of a layout (plan/placement_needs.hpp). Verdicts have asked a layout that is
  /// known; the search ranks only layouts that keep it.
  template<class Need>
  constexpr void constrain(Need const&) const {}
  /// Under some layouts `copy` is the same array as `array`: those under which nothing was copied. Here it is
  /// known whether one is.
  template<class Ticket, class Size>
  constexpr void alias(Ticket const&, Ticket const&, Size const&) const {}

  /// Puts an entry made by `create` on the tape, with the name and line of the current operation.
  constexpr void put_on_tape(tape_entry* e) {
    e->site    = now_;
    e->counted = counted_now_;
    e->before  = detail::exchange(last_, e);
  }

  /// Runs the tape backwards and leaves it empty; without `run` it is only dropped. If a gradient throws, the
  /// rest is dropped.
  constexpr void unwind_tape(bool run) {
    call_site const outside        = now_;
    unsigned const counted_outside = counted_now_;
    bool const sums_early          = run && early_sums_ != nullptr && !more_terms_follow_;
    try {
      while (last_ != nullptr) {
        unwind_last(run);
        if (sums_early) for_each_hook(&detail::early_sums_hook::look);
      }
      if (sums_early) for_each_hook(&detail::early_sums_hook::finish);
    } catch (...) {
      unwind_tape(false);
      if (sums_early) for_each_hook(&detail::early_sums_hook::drop);
      now_         = outside;
      counted_now_ = counted_outside;
      throw;
    }
    now_         = outside;
    counted_now_ = counted_outside;
  }

  constexpr bool tape_is_empty() const { return last_ == nullptr; }

protected:
  constexpr ~machine_base() {
    while (known_ != nullptr) delete detail::exchange(known_, known_->before);
  }

  constexpr void count_bytes(extent bytes) {
    live_ += bytes;
    if (live_ > peak_) peak_ = live_;
  }

  constexpr void note_collective(collective kind, reduction op, element type, extent count, axis_set over) {
    if (notes_ != nullptr && !idles_) notes_->note(call_of(kind, op, type, count, over));
  }
  /// The collective that the current operation is about to call, with its price.
  constexpr collective_call call_of(collective kind, reduction op, element type, extent count,
                                    axis_set over) const {
    return detail::call_over<M>(over, kind, op, type, count, now_, why_);
  }
  constexpr void note(work const& w) {
    if (notes_ != nullptr && !idles_) notes_->note(w);
  }
  constexpr void note_spilled(extent bytes) {
    if (notes_ != nullptr && !idles_) notes_->note_spilled(bytes);
  }
  constexpr bool takes_notes() const { return notes_ != nullptr; }
  /// For a collective that goes on after it has been noted, until its result is needed.
  using begun_call = typename cost<M>::begun_call;
  constexpr begun_call last_call() const { return takes_notes() ? notes_->last_call() : begun_call{}; }
  constexpr void note_needed(begun_call const& call) {
    if (takes_notes()) notes_->note_needed(call);
  }
  /// The notes and the peaks before `begin_notes`.
  struct notes_before {
    cost<M>* notes;
    extent peak;
    extent parameters;
    extent optimizer;
  };
  /// From here on everything is noted in `notes`, and the peaks are counted anew.
  constexpr notes_before begin_notes(cost<M>* notes) {
    return {detail::exchange(notes_, notes), detail::exchange(peak_, live_),
            detail::exchange(max_parameters_, parameters_), detail::exchange(max_optimizer_, optimizer_)};
  }
  constexpr void end_notes(notes_before const& before) {
    notes_ = before.notes;
    if (before.peak > peak_) peak_ = before.peak;
    if (before.parameters > max_parameters_) max_parameters_ = before.parameters;
    if (before.optimizer > max_optimizer_) max_optimizer_ = before.optimizer;
  }

private:
  struct known_counts {
    counts values;
    unsigned number;
    known_counts* before;
  };
  struct step_in_turn {
    long& taken;
    constexpr ~step_in_turn() { ++taken; }
  };
  struct taken {
    tape_entry* entry;
    constexpr ~taken() { entry->destroy(entry); }
  };
  constexpr void unwind_last(bool run) {
    taken const last{detail::exchange(last_, last_->before)};
    now_          = last.entry->site;
    now_.backward = true;
    counted_now_  = last.entry->counted;
    why_          = nullptr;
    if (run) last.entry->backward(last.entry);
  }
  constexpr void for_each_hook(void (*detail::early_sums_hook::*step)(detail::early_sums_hook*)) {
    for (detail::early_sums_hook* h = early_sums_; h != nullptr; h = h->next) (h->*step)(h);
  }

  tape_entry* last_                       = nullptr;
  cost<M>* notes_                         = nullptr;
  call_site now_                          = {};
  collective_reason const* why_           = nullptr;
  extent live_                            = 0;
  extent peak_                            = 0;
  extent parameters_                      = 0;
  extent max_parameters_                  = 0;
  extent optimizer_                       = 0;
  extent max_optimizer_                   = 0;
  bool records_gradients_                 = true;
  bool keeps_tape_                        = true;
  bool recomputes_                        = false;
  bool idles_                             = false;
  bool in_backward_pass_                  = false;
  int stage_                              = -1;
  axis_set stages_over_                   = 0;
  unsigned counted_now_                   = 0;
  long steps_                             = 0;
  counts all_full_                        = {};
  known_counts* known_                    = nullptr;
  long pass_                              = 0;
  bool more_terms_follow_                 = false;
  detail::stage_copy* stage_copies_       = nullptr;
  detail::early_sums_hook* early_sums_    = nullptr;
  detail::packed_weights* packed_weights_ = nullptr;
  detail::use_without_tape** uses_        = nullptr;
  detail::message_in_flight* in_flight_[2]{};
  detail::spilled_scopes scopes_{};
};

/// The former name of `machine_base`.
template<class Self, Mesh M>
using accounts [[deprecated("use machine_base")]] = machine_base<Self, M>;

}  // namespace v0
}  // namespace meshtf
