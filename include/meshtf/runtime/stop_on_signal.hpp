// stop_on_signal: a signal asks a training to save and to end, after the same step on all processes.
#pragma once

#include <source_location>
#include <string>

#include <signal.h>
#include <unistd.h>

#include <meshtf/core/error.hpp>
#include <meshtf/core/mesh.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/runtime/handler_stack.hpp>

namespace meshtf {
inline namespace v0 {

/// What a training ends with once it has saved because it was asked to: status 75, "try again" (EX_TEMPFAIL
/// of BSD's sysexits.h), on which `examples/supervise` and a queue start the same command again.
struct stopped : error {
  explicit stopped(std::string const& text) : error{text, 75} {}
};

namespace detail {

// Whether the signal has come. A handler may write nothing else.
inline volatile sig_atomic_t stop_asked = 0;

extern "C" inline void meshtf_ask_to_stop(int) {
  if (stop_asked != 0) _exit(75);
  stop_asked = 1;
}

}  // namespace detail

/// While it lives, the signal (SIGUSR1) no longer kills this process: it asks all processes of the job to
/// stop after a step, which `stop_wanted` tells them. A second signal ends the process at once, with
/// status 75.
///
///     meshtf::stop_on_signal const stop;
///     for (long step = first; step < steps; ++step) {
///       loss = t.step();
///       if (meshtf::stop_wanted(m)) {
///         meshtf::save(parameters(t.net), t.opt, position, folder);
///         throw meshtf::stopped{"stopped after step " + std::to_string(step + 1)};
///       }
///     }
///
/// SIGUSR1, since Open MPI's `mpirun` and Slurm's `sbatch --signal` forward it to the processes. SIGTERM is
/// of no use: `mpirun` kills the processes when it gets it.
///
/// It lives on the thread that computes.
class stop_on_signal {
public:
  explicit stop_on_signal(int signal = SIGUSR1) : signal_{signal} {
    detail::stop_asked = 0;
    struct sigaction wanted{};
    wanted.sa_handler = detail::meshtf_ask_to_stop;
    wanted.sa_flags   = SA_RESTART | SA_ONSTACK;  // a read or a write that it interrupts goes on
    sigemptyset(&wanted.sa_mask);
    sigaction(signal_, &wanted, &before_);
  }
  ~stop_on_signal() { sigaction(signal_, &before_, nullptr); }
  stop_on_signal(stop_on_signal const&)            = delete;
  stop_on_signal& operator=(stop_on_signal const&) = delete;

private:
  detail::handler_stack stack_;
  int signal_;
  struct sigaction before_{};
};

/// Whether a process of the job has been asked to stop: the same answer on all, though the signal reaches
/// them at different times, or one of them alone. One all-reduce of one number over the whole mesh, which is
/// priced and counted. Under a dry layout nobody is asked.
template<class Machine>
  requires requires { typename Machine::mesh_type; }
constexpr bool stop_wanted(Machine& m, std::source_location at = std::source_location::current()) {
  int wanted = 0;
  if constexpr (Machine::computes) wanted = detail::stop_asked != 0 ? 1 : 0;
  m.begin_operation("stop_wanted", at);
  m.all_reduce(reduction::max, &wanted, 1, joining_axes<typename Machine::mesh_type>);
  return wanted != 0;
}

}  // namespace v0
}  // namespace meshtf
