// Reports a process that waits for others that never come: a thread watches, prints a line when nothing has
// moved for some time, and ends the job when nothing has for longer.
#pragma once

#include <cstdint>
#include <string>

#include <mpi.h>
#include <pthread.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/runtime/handler_stack.hpp>
#include <meshtf/runtime/standstill.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <signal.h>
#include <time.h>

#include <meshtf/core/error.hpp>
#include <meshtf/runtime/call_ring.hpp>
#include <meshtf/runtime/switch_value.hpp>
#include <meshtf/runtime/waiting.hpp>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A thread that looks at `waits` at intervals. It reads no clock but counts its looks, so a job that was
/// stopped as a whole has not waited. It never calls MPI.
///
/// It reports a wait once. If the wait ends, because the others were only late, it doubles its patience: a
/// program that waits long in each step reports that only a few times. If MESHTF_TIMEOUT sets a limit, a wait
/// that is longer ends the job (`end_standing_job`).
///
/// On SIGUSR2 it prints the last collectives of its process.
class watchdog {
public:
  /// In seconds: ten, unless MESHTF_PATIENCE sets another number. Errors: `usage_error` if it is not a number
  /// of seconds.
  static double patience();

  /// If there is a limit, and the launcher says that there are several processes, it watches from here on:
  /// MPI_Init waits for all of them.
  watchdog();
  watchdog(watchdog const&)       = delete;
  void operator=(watchdog const&) = delete;
  ~watchdog() { stop(); }

  /// MPI is up: the processes of `world` agree on the limits. Without a limit or patience no thread is
  /// started. If the system can't start a thread, nothing is
  /// reported, and the program runs all the same.
  /// Errors: `usage_error` if a value of MESHTF_TIMEOUT, MESHTF_SAVE_TIMEOUT or MESHTF_PATIENCE is none.
  void start(MPI_Comm world, bool reports_waiting);
  void stop();

private:
  static void* watch(void* me) {
    static_cast<watchdog*>(me)->watch();
    return nullptr;
  }

  void run();
  void watch();
  /// Whether the end has come within `seconds`; if not, `job` is what is known of the job.
  bool over_within(double seconds, watched_job& job);
  void look(watched_job const& job, double passed);
  void answer(watched_job const& job, bool waits_on);

  handler_stack stack_;  // of the thread that makes the watchdog: the main one
  pthread_t thread_{};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t ended_  = PTHREAD_COND_INITIALIZER;
  watched_job job_{};  // with the mutex
  bool over_ = false;  // with the mutex
  bool runs_ = false;

  // of the thread
  std::uint64_t seen_ = 0;
  double stood_       = 0;  // seconds
  double unasked_     = 0;  // seconds since it has looked whether others ask
  double patience_    = 1;  // how many times that of the job
  bool told_          = false;
  bool answered_      = false;
};

#if MESHTF_DEFINES_RUNTIME

/// Set by SIGUSR2; a handler may write nothing else.
inline std::atomic<bool> ring_is_wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" inline void meshtf_want_ring(int) { ring_is_wanted.store(true, std::memory_order_relaxed); }

MESHTF_DEFINE double watchdog::patience() {
  char const* const value = std::getenv("MESHTF_PATIENCE");
  if (value == nullptr || *value == '\0') return 10;
  double seconds = 0;
  if (!read_number(value, seconds) || !(seconds >= 0) || seconds > 1e9)
    throw usage_error("expected MESHTF_PATIENCE to be a number of seconds, got '" + std::string{value} +
                      "': for example 60, or 0 to hear nothing of processes that wait");
  return seconds;
}

MESHTF_DEFINE watchdog::watchdog() {
  last_calls.start_clock();
  job_ = job_of_launcher();
  if (job_.is_limited() && job_.size > 1) run();
}

MESHTF_DEFINE void watchdog::start(MPI_Comm world, bool reports_waiting) {
  watched_job job = agreed_job(world);
  double const p  = patience();
  job.patience    = reports_waiting ? p : 0;
  pthread_mutex_lock(&mutex_);
  job_ = job;
  pthread_mutex_unlock(&mutex_);
  if (!runs_ && job.size > 1 && (job.patience > 0 || job.is_limited())) run();
  if (!runs_ && job.size > 1) return;
  struct sigaction now{};
  if (sigaction(SIGUSR2, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL) {
    now.sa_handler = meshtf_want_ring;
    now.sa_flags   = SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR2, &now, nullptr);
  }
}

MESHTF_DEFINE void watchdog::run() {
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

/// Seconds between two looks.
MESHTF_DEFINE double pace_of(watched_job const& job) {
  double pace = 1;
  if (job.patience > 0) pace = std::min(pace, job.patience / 4);
  if (job.is_limited()) pace = std::min(pace, static_cast<double>(std::max(job.limit, 1L)) / 4);
  return pace;
}
/// Seconds between two looks whether others ask, of a process that goes on: the folder may be on a network.
MESHTF_DEFINE double pace_of_answers(watched_job const& job) {
  return std::clamp(static_cast<double>(job.limit) / 10, 1.0, 10.0);
}

MESHTF_DEFINE void watchdog::watch() {
  watched_job job;
  over_within(0, job);
  for (double pace = pace_of(job); !over_within(pace, job); pace = pace_of(job)) look(job, pace);
}

/// "meshtf: process 0 of 4 has waited 10 s for others in all_reduce for mean, mlp.cpp:12: ...", or for stage
/// 1 in hand_on.
MESHTF_DEFINE std::string words_of_wait(watched_job const& job, double seconds) {
  std::string const who = "meshtf: process " + std::to_string(job.rank) + " of " + std::to_string(job.size) +
                          " has waited " + std::to_string(static_cast<long>(seconds)) + " s for ";
  char const* const file = waits.file_of.load(std::memory_order_relaxed);
  long const limit       = file != nullptr ? job.save_limit : job.limit;
  std::string end        = "; MESHTF_TIMEOUT=600 ends a job that has waited 600 s\n";
  if (limit > 0) end = "; after " + std::to_string(limit) + " s the job ends\n";
  else if (file != nullptr) end = "\n";
  if (file != nullptr) return who + file + ": a disk is slow, or a process is stopped" + end;
  int const stage        = waits.stage.load(std::memory_order_relaxed);
  std::string const text = who + (stage < 0 ? "others" : "stage " + std::to_string(stage)) + " in " +
                           last_calls.latest() + (stage < 0 ? ": one of them" : ": it");
  if (waits.compares.load(std::memory_order_relaxed))
    return text + " is late or stopped; calls are compared (MESHTF_CHECK), and none has differed so far" +
           end;
  return text +
         " is late, stopped, or calls something else: run again with MESHTF_CHECK=1, which names the first "
         "call that differs" +
         end;
}

MESHTF_DEFINE void watchdog::look(watched_job const& job, double passed) {
  if (ring_is_wanted.exchange(false, std::memory_order_relaxed)) {
    std::string const text = "meshtf: process " + std::to_string(job.rank) + " of " +
                             std::to_string(job.size) + " " + state_of_process() +
                             "; its last collectives:\n" + last_calls.text();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  auto const number   = waits.number.load(std::memory_order_acquire);
  bool const waits_on = number == seen_ && number % 2 != 0;
  unasked_ += passed;
  if (waits_on || unasked_ >= pace_of_answers(job)) answer(job, waits_on);
  if (!waits_on) {
    if (told_) patience_ *= 2;
    seen_  = number;
    stood_ = 0;
    told_  = false;
    return;
  }
  stood_ += passed;
  bool const saves = waits.file_of.load(std::memory_order_relaxed) != nullptr;
  if (long const limit = saves ? job.save_limit : job.limit;
      limit > 0 && stood_ >= static_cast<double>(limit))
    end_standing_job(job, 2 * passed + pace_of_answers(job) + 1);
  if (told_ || job.patience <= 0 || stood_ < patience_ * job.patience) return;
  std::string const line = words_of_wait(job, stood_);
  if (waits.number.load(std::memory_order_acquire) != number) return;
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write, so lines of different processes don't mix
  told_ = true;
}

/// Another process has found that the job does not go on: a process that waits, too, ends with it, and one
/// that computes says so.
MESHTF_DEFINE void watchdog::answer(watched_job const& job, bool waits_on) {
  unasked_ = 0;
  if (answered_ || !job.is_limited() || !asks_for_rings(job)) return;
  if (waits_on) end_standing_job(job, pace_of_answers(job) + 2);
  answered_ = write_ring(job);
}

MESHTF_DEFINE bool watchdog::over_within(double seconds, watched_job& job) {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  long const nanoseconds = until.tv_nsec + static_cast<long>(seconds * 1e9);
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  pthread_mutex_lock(&mutex_);
  if (!over_) pthread_cond_timedwait(&ended_, &mutex_, &until);
  bool const over = over_;
  job             = job_;
  pthread_mutex_unlock(&mutex_);
  return over;
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
