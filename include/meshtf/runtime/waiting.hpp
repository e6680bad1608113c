// What this process waits for, noted where it waits: a thread that watches reports it (watchdog.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>

#include <meshtf/runtime/call_ring.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Whether calls are compared if MESHTF_CHECK is not set; an environment sets it for its lifetime.
inline bool compares_calls_by_default = false;

/// What this process waits for: the latest of `last_calls`. The main thread writes it, with plain stores on
/// common processors; the watching thread reads it.
struct wait_board {
  std::atomic<std::uint64_t> number{0};       // odd inside a collective; every MPI call changes it
  std::atomic<int> stage{-1};                 // the one that is waited for; -1: any process
  std::atomic<char const*> file_of{nullptr};  // who does what with a file meanwhile
  // whether calls are compared: a call that differs would have been reported
  std::atomic<bool> compares{false};
  // a collective may consist of others: the outermost one is what the program called
  int depth = 0;
};
inline wait_board waits;

/// While it lives, this process is in a collective. The texts must live forever: they are literals.
class waiting {
public:
  explicit waiting(char const* call, std::source_location const& at = {}) { begin(call, "", at, false, {}); }
  waiting(char const* call, char const* operation, std::source_location const& at, bool backward,
          sent_by_call const& sent = {}) {
    begin(call, operation, at, backward, sent);
  }
  waiting(waiting const&)        = delete;
  void operator=(waiting const&) = delete;
  ~waiting() {
    if (--waits.depth > 0) return;
    last_calls.end();
    move_on(1);
  }

private:
  static void begin(char const* call, char const* operation, std::source_location const& at, bool backward,
                    sent_by_call const& sent) {
    if (waits.depth++ > 0) return move_on(2);
    last_calls.begin(call, operation, at, backward, sent);
    move_on(1);
  }
  static void move_on(std::uint64_t steps) {
    waits.number.store(waits.number.load(std::memory_order_relaxed) + steps, std::memory_order_release);
  }
};

/// The same for a message to or from another stage.
class waiting_for_stage {
public:
  waiting_for_stage(int stage, char const* call, char const* operation, std::source_location const& at,
                    bool backward)
      : told_{stage}, here_{call, operation, at, backward} {}

private:
  /// It is told before the wait begins and forgotten after its end, so a wait that knows no stage need not
  /// say so.
  struct told {
    explicit told(int stage) { waits.stage.store(stage, std::memory_order_relaxed); }
    told(told const&)           = delete;
    void operator=(told const&) = delete;
    ~told() { waits.stage.store(-1, std::memory_order_relaxed); }
  };

  told told_;
  waiting here_;
};

/// The same where it is certain that all have come, and some write a file: `what` says who does what, a
/// literal.
class waiting_for_file {
public:
  waiting_for_file(char const* what, char const* call) : told_{what}, here_{call} {}

private:
  struct told {
    explicit told(char const* what) { waits.file_of.store(what, std::memory_order_relaxed); }
    told(told const&)           = delete;
    void operator=(told const&) = delete;
    ~told() { waits.file_of.store(nullptr, std::memory_order_relaxed); }
  };

  told told_;
  waiting here_;
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
