// Reports a process that waits for others that never come: a thread watches, and prints a line when nothing
// has moved for some time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/price/call_site.hpp>
#include <meshtf/runtime/switch_value.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// Whether calls are compared if MESHTF_CHECK is not set; an environment sets it for its lifetime.
inline bool compares_calls_by_default = false;

/// What this process waits for. The main thread writes it, with plain stores on common processors; the
/// watching thread reads it.
struct wait_board {
  std::atomic<std::uint64_t> number{0};  // odd inside a collective; every MPI call changes it
  std::atomic<char const*> call{""};
  std::atomic<char const*> operation{""};
  std::atomic<char const*> file{""};
  std::atomic<unsigned> line{0};
  std::atomic<bool> backward{false};
  std::atomic<int> stage{-1};                 // the one that is waited for; -1: any process
  std::atomic<char const*> file_of{nullptr};  // what process 0 does with a file meanwhile
  // whether calls are compared: a call that differs would have been reported
  std::atomic<bool> compares{false};
  // a collective may consist of others: the outermost one is what the program called
  int depth = 0;
};
inline wait_board waits;

/// While it lives, this process is in a collective. The texts must live forever: they are literals.
class waiting {
public:
  explicit waiting(char const* call) { begin(call, "", "", 0, false); }
  waiting(char const* call, std::source_location const& at) {
    begin(call, "", at.file_name(), at.line(), false);
  }
  waiting(char const* call, char const* operation, std::source_location const& at, bool backward) {
    begin(call, operation, at.file_name(), at.line(), backward);
  }
  waiting(waiting const&)        = delete;
  void operator=(waiting const&) = delete;
  ~waiting() {
    if (--waits.depth == 0) move_on(1);
  }

private:
  static void begin(char const* call, char const* operation, char const* file, unsigned line, bool backward) {
    if (waits.depth++ > 0) return move_on(2);
    waits.call.store(call, std::memory_order_relaxed);
    waits.operation.store(operation, std::memory_order_relaxed);
    waits.file.store(file, std::memory_order_relaxed);
    waits.line.store(line, std::memory_order_relaxed);
    waits.backward.store(backward, std::memory_order_relaxed);
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

/// The same where it is certain that all have come, and process 0 writes a file: `what` it does, a literal.
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

/// A thread that looks at the board at intervals. It reads no clock but counts its looks, and it never calls
/// MPI.
///
/// It reports a wait once. If the wait ends, because the others were only late, it doubles its patience: a
/// program that waits long in each step reports that only a few times.
class watchdog {
public:
  /// In seconds: ten, unless MESHTF_PATIENCE sets another number. Errors: `usage_error` if it is not a number
  /// of seconds.
  static double patience();

  watchdog()                      = default;
  watchdog(watchdog const&)       = delete;
  void operator=(watchdog const&) = delete;
  ~watchdog() { stop(); }

  /// If the system can't start a thread, nothing is reported, and the program runs all the same.
  void start(int rank, int size, double patience);
  void stop();

private:
  static void* watch(void* me) {
    static_cast<watchdog*>(me)->watch();
    return nullptr;
  }

  void watch();

  bool over_within(double seconds);

  /// "meshtf: process 0 of 4 has waited 10 s for others in all_reduce for mean, mlp.cpp:12: ...", or for
  /// stage 1 in hand_on
  std::string words(double seconds) const;

  pthread_t thread_{};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t ended_  = PTHREAD_COND_INITIALIZER;
  int rank_              = 0;
  int size_              = 1;
  double patience_       = 10;
  bool runs_             = false;
  bool over_             = false;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE double watchdog::patience() {
  char const* const value = std::getenv("MESHTF_PATIENCE");
  if (value == nullptr || *value == '\0') return 10;
  double seconds = 0;
  if (!read_number(value, seconds) || !(seconds >= 0) || seconds > 1e9)
    throw usage_error("expected MESHTF_PATIENCE to be a number of seconds, got '" + std::string{value} +
                      "': for example 60, or 0 to hear nothing of processes that wait");
  return seconds;
}

MESHTF_DEFINE void watchdog::start(int rank, int size, double patience) {
  rank_     = rank;
  size_     = size;
  patience_ = patience;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals must go to the program's own threads
  runs_ = pthread_create(&thread_, nullptr, watch, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MESHTF_DEFINE void watchdog::stop() {
  if (!runs_) return;
  pthread_mutex_lock(&mutex_);
  over_ = true;
  pthread_cond_signal(&ended_);
  pthread_mutex_unlock(&mutex_);
  pthread_join(thread_, nullptr);
  runs_ = false;
}

MESHTF_DEFINE void watchdog::watch() {
  double const between = std::min(1.0, patience_ / 4);
  std::uint64_t seen   = 0;
  double stood         = 0;
  bool told            = false;
  while (!over_within(between)) {
    auto const number = waits.number.load(std::memory_order_acquire);
    if (number != seen || number % 2 == 0) {
      if (told) patience_ *= 2;
      seen  = number;
      stood = 0;
      told  = false;
      continue;
    }
    stood += between;
    if (told || stood < patience_) continue;
    std::string const line = words(stood);
    if (waits.number.load(std::memory_order_acquire) != number) continue;
    std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so lines of different processes don't mix
    told = true;
  }
}

MESHTF_DEFINE bool watchdog::over_within(double seconds) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  long const nanoseconds = until.tv_nsec + static_cast<long>(seconds * 1e9);
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  pthread_mutex_lock(&mutex_);
  if (!over_) pthread_cond_timedwait(&ended_, &mutex_, &until);
  bool const over = over_;
  pthread_mutex_unlock(&mutex_);
  return over;
}

MESHTF_DEFINE std::string watchdog::words(double seconds) const {
  int const stage           = waits.stage.load(std::memory_order_relaxed);
  char const* const of_file = waits.file_of.load(std::memory_order_relaxed);
  if (of_file != nullptr)
    return "meshtf: process " + std::to_string(rank_) + " of " + std::to_string(size_) + " has waited " +
           std::to_string(static_cast<long>(seconds)) + " s for process 0, which " + of_file +
           ": its disk is slow, or it is stopped\n";
  std::string text = "meshtf: process " + std::to_string(rank_) + " of " + std::to_string(size_) +
                     " has waited " + std::to_string(static_cast<long>(seconds)) + " s for " +
                     (stage < 0 ? "others" : "stage " + std::to_string(stage)) + " in " +
                     waits.call.load(std::memory_order_relaxed);
  std::string_view const operation = waits.operation.load(std::memory_order_relaxed);
  if (!operation.empty()) text += " for " + std::string{operation};
  if (waits.backward.load(std::memory_order_relaxed)) text += "'s gradient";
  if (unsigned const line = waits.line.load(std::memory_order_relaxed); line != 0)
    (text += ", ") += place_text(waits.file.load(std::memory_order_relaxed), extent{line}).view();
  std::string const whose = stage < 0 ? ": one of them" : ": it";
  if (waits.compares.load(std::memory_order_relaxed))
    return text + whose +
           " is late or stopped; calls are compared (MESHTF_CHECK), and none has differed so "
           "far\n";
  return text + whose +
         " is late, stopped, or calls something else: run again with MESHTF_CHECK=1, which "
         "names the first call that differs\n";
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
