// How many threads share the work of a process: what the environment variable or the program asks for, if the
// process may use as many cores.
#pragma once

#include <cstdlib>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/threads.hpp>
#include <meshtf/runtime/switch_value.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// MESHTF_THREADS, or else what the program asks for.
/// Errors: `usage_error` if that is not a positive number, or more than the process may use cores: its
/// threads would take turns, and the others would wait for each of them.
int thread_number(threads of_program);

#if MESHTF_DEFINES_RUNTIME

/// The cores that this process may use: mpirun binds processes to some of them.
MESHTF_DEFINE long cores_of_process() {
#if defined(__linux__)
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);
}

MESHTF_DEFINE int thread_number(threads of_program) {
  char const* const value = std::getenv("MESHTF_THREADS");
  bool const is_set       = value != nullptr && *value != '\0';
  std::string const said  = is_set ? value : std::to_string(of_program.number);
  std::string const text  = is_set ? "MESHTF_THREADS" : "threads{n}";
  long n                  = 0;
  if (!read_number(said, n) || n < 1)
    throw usage_error("expected " + text + " to be a number of threads for each process, at least 1, got '" +
                      said + "': for example 2, or 1 for the process itself and no others");
  if (long const cores = cores_of_process(); n > cores)
    throw usage_error("expected " + text + " to be at most " + std::to_string(cores) +
                      ", the cores that this process may use, got " + std::to_string(n) +
                      ": start it with as many cores for each process (mpirun --map-by slot:PE=" +
                      std::to_string(n) + "), or ask for fewer threads");
  return static_cast<int>(n);
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
