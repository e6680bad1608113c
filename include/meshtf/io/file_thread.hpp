// A thread that works on files while the program computes.
#pragma once

#include <atomic>
#include <exception>
#include <functional>

#include <pthread.h>

#include <meshtf/core/compiled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <utility>

#include <signal.h>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// One piece of work at a time, on a thread that it is started for. What the work does must not call MPI,
/// which knows the main thread alone. One thread calls all members.
class file_thread {
public:
  file_thread()                              = default;
  file_thread(file_thread const&)            = delete;
  file_thread& operator=(file_thread const&) = delete;
  ~file_thread() { join(); }

  /// Begins `work` after the work before it has ended. If the system starts no thread, the caller does it.
  void start(std::function<void()> work);

  /// Whether the work has ended.
  bool is_done() const { return done_.load(std::memory_order_acquire); }

  /// Waits until it has.
  void join();

  /// What the work threw, or null. Only where it has ended.
  std::exception_ptr const& caught() const { return caught_; }

private:
  static void* run(void* me);
  void run();

  std::function<void()> work_;
  std::exception_ptr caught_;
  std::atomic<bool> done_{true};
  pthread_t thread_{};
  bool runs_ = false;
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void file_thread::start(std::function<void()> work) {
  join();
  work_   = std::move(work);
  caught_ = nullptr;
  done_.store(false, std::memory_order_relaxed);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals must go to the program's own threads
  runs_ = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!runs_) run();
}

MESHTF_DEFINE void file_thread::join() {
  if (!runs_) return;
  pthread_join(thread_, nullptr);
  runs_ = false;
}

MESHTF_DEFINE void* file_thread::run(void* me) {
  static_cast<file_thread*>(me)->run();
  return nullptr;
}

MESHTF_DEFINE void file_thread::run() {
  try {
    work_();
  } catch (...) {
    caught_ = std::current_exception();
  }
  work_ = nullptr;  // what it holds ends with it
  done_.store(true, std::memory_order_release);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
