// The threads of a process: they are kept, and share the parts of one piece of work after the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include <pthread.h>
#include <signal.h>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/kernel/float_control.hpp>
#include <meshtf/kernel/library_threads.hpp>

namespace meshtf {
inline namespace v0 {
namespace kernel {

/// The caller and its helpers. The helpers are threads of our own and not OpenMP's, so a source that is
/// compiled with -fopenmp behaves like one that is not.
///
/// A piece of work has numbered parts. Each thread begins with its share of neighbouring parts, the same in
/// every piece of work, so that what it wrote is in its cache. Then it takes what others have left. A helper
/// that comes late finds nothing to do, and nobody waits for it. A helper that has nothing to do looks out
/// for work for some ten microseconds, and then sleeps.
///
/// There is one team, and it is never destroyed: a program that calls `exit` ends while the helpers sleep.
class thread_team {
public:
  /// A part of a piece of work, on thread 0 (the caller) to `threads() - 1`.
  using part_function = void (*)(void const* work, extent part, int thread);

  int threads() const { return threads_; }

  /// Ends the helpers and starts `n - 1` others. Only the thread that gives work calls this, between two
  /// pieces of work.
  /// Errors: `unavailable` if the system starts no more threads.
  void resize(int n) {
    stop();
    if (n <= 1) return;
    static int const once = pthread_atfork(nullptr, nullptr, [] { the_team().forget(); });
    static_cast<void>(once);
    use_one_library_thread();
    lanes_ = new lane[static_cast<std::size_t>(n)];
    ending_.store(false, std::memory_order_relaxed);
    threads_ = 1;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals must go to the program's own threads
    bool starts = true;
    for (int i = 1; i < n && starts; ++i) {
      lanes_[i].number = i;
      starts           = pthread_create(&lanes_[i].thread, nullptr, help, &lanes_[i]) == 0;
      threads_ += starts ? 1 : 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    lanes_in_use_.store(threads_, std::memory_order_release);
    if (starts) return;
    int const started = threads_;
    stop();
    throw unavailable("the system starts only " + std::to_string(started) + " of the " + std::to_string(n) +
                      " threads that are wanted: ask for fewer (MESHTF_THREADS)");
  }

  /// Calls `f(work, part, thread)` for parts 0, ..., parts - 1, and returns when all are done. If some throw,
  /// the exception of the first of these parts is thrown again. If this is called within a part, or while
  /// another thread gives work, the caller does all of it, as thread 0.
  void run(extent parts, part_function f, void const* work) {
    if (threads_ == 1 || parts <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
      for (extent part = 0; part < parts; ++part) f(work, part, 0);
      return;
    }
    job current{.f = f, .work = work, .parts = static_cast<std::uint32_t>(parts), .control = float_control()};
    job_ = &current;
    finished_.store(0, std::memory_order_relaxed);
    for (int i = 0; i < threads_; ++i) {
      auto const bound = [&](int k) { return static_cast<std::uint64_t>(parts * k / threads_); };
      lanes_[i].parts.store(bound(i + 1) << 32 | bound(i), std::memory_order_release);
    }
    calls_.fetch_add(1, std::memory_order_release);
    calls_.notify_all();
    take_parts(0);
    wait_until(finished_, [&](std::uint32_t done) { return done == current.parts; });
    busy_.store(false, std::memory_order_release);
    if (current.thrown) rethrow(current.thrown);
  }

private:
  struct job {
    part_function f;
    void const* work;
    std::uint32_t parts;
    std::uint64_t control;
    std::atomic_flag noting{};
    std::uint32_t first_failed = 0;
    std::exception_ptr thrown{};
  };

  /// The parts with which a thread begins: the next one in the lower half, the end in the upper half.
  struct alignas(64) lane {
    std::atomic<std::uint64_t> parts{0};
    pthread_t thread{};
    int number = 0;
  };

  static thread_team& the_team();

  static void pause() {
#if defined(__SSE2__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  /// Looks at `a` until `is` holds for it, and sleeps after a while.
  template<class Is>
  static void wait_until(std::atomic<std::uint32_t>& a, Is const& is) {
    constexpr int looks = 2000;  // of 20 to 40 ns each
    for (int i = 0;; ++i) {
      auto const value = a.load(std::memory_order_acquire);
      if (is(value)) return;
      if (i < looks) pause();
      else a.wait(value, std::memory_order_acquire);
    }
  }

  static void* help(void* mine) {
    the_team().help(static_cast<lane*>(mine)->number);
    return nullptr;
  }
  void help(int thread) {
    use_one_library_thread();
    for (std::uint32_t seen = first_call_;;) {
      wait_until(calls_, [&](std::uint32_t calls) { return calls != seen; });
      seen = calls_.load(std::memory_order_acquire);
      if (ending_.load(std::memory_order_relaxed)) return;
      take_parts(thread);
    }
  }

  /// Whoever has taken a part may read the job: it lasts until all parts are finished.
  void take_parts(int thread) {
    int const lanes = lanes_in_use_.load(std::memory_order_acquire);
    for (int k = 0; k < lanes; ++k) {
      auto& parts = lanes_[(thread + k) % lanes].parts;
      for (auto taken = parts.load(std::memory_order_acquire); (taken & 0xffffffff) < taken >> 32;)
        if (parts.compare_exchange_weak(taken, taken + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
          do_part(static_cast<std::uint32_t>(taken & 0xffffffff), thread);
          taken = parts.load(std::memory_order_acquire);
        }
    }
  }
  void do_part(std::uint32_t part, int thread) {
    job& current    = *job_;
    auto const last = current.parts;
    if (thread != 0 && float_control() != current.control) set_float_control(current.control);

    try {
      current.f(current.work, extent{part}, thread);
    } catch (...) {
      while (current.noting.test_and_set(std::memory_order_acquire)) pause();
      if (!current.thrown || part < current.first_failed) {
        current.first_failed = part;
        current.thrown       = std::current_exception();
      }
      current.noting.clear(std::memory_order_release);
    }
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == last && thread != 0) finished_.notify_one();
  }

  /// The latest error of the thread that throws it is what `environment` reports, wherever it was made.
  [[noreturn]] static void rethrow(std::exception_ptr const& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (error const& e) {
      e.be_latest();
      throw;
    }
  }

  void stop() {
    if (lanes_ == nullptr) return;
    ending_.store(true, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_release);
    calls_.notify_all();
    for (int i = 1; i < threads_; ++i) pthread_join(lanes_[i].thread, nullptr);
    first_call_ = calls_.load(std::memory_order_relaxed);
    delete[] lanes_;
    forget();
  }
  /// A process that was forked has the caller, but not the helpers.
  void forget() {
    lanes_   = nullptr;
    threads_ = 1;
    lanes_in_use_.store(1, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_relaxed);
  }

  lane* lanes_ = nullptr;
  job* job_    = nullptr;
  int threads_ = 1;
  std::atomic<bool> ending_{false};
  std::uint32_t first_call_ = 0;  // what `calls_` is when helpers start
  std::atomic<bool> busy_{false};
  std::atomic<int> lanes_in_use_{1};
  alignas(64) std::atomic<std::uint32_t> calls_{0};     // pieces of work that were given
  alignas(64) std::atomic<std::uint32_t> finished_{0};  // parts of this piece of work
};

#ifdef MESHTF_ARCHITECTURE
extern constinit thread_team team;
#else
inline constinit thread_team team;
#endif

inline thread_team& thread_team::the_team() { return team; }

}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
