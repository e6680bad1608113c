// The environment of a program: MPI runs while it lives, and an exception that nobody handles ends the whole
// job with one message.
#pragma once

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <time.h>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/threads.hpp>
#include <meshtf/kernel/architecture.hpp>
#include <meshtf/kernel/blas_kernel.hpp>
#include <meshtf/kernel/float_control.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/runtime/one_program.hpp>
#include <meshtf/runtime/thread_number.hpp>
#include <meshtf/runtime/trace.hpp>
#include <meshtf/runtime/waiting.hpp>
#include <meshtf/runtime/watchdog.hpp>

namespace meshtf {
inline namespace v0 {

/// The settings that `environment` changes for the whole process.
struct environment_settings {
  // treat numbers below the smallest normal one as 0: arithmetic on them is up to 100 times slower
  bool flush_denormals = true;
  // OpenMP and OpenBLAS start no threads of their own: each core already has a process, or a thread of the
  // library
  bool one_gemm_thread = true;
  // malloc keeps freed memory, so that libraries' buffers cause no page faults in every step
  bool keep_memory    = true;
  bool report_kernels = true;  // report once, at the start, what makes this build slow on this machine
  // a process that waits ten seconds for others says so; MESHTF_PATIENCE sets another number of seconds, 0:
  // never (docs/watchdog.md)
  bool report_waiting = true;
};

namespace detail {

/// Whether the including source is compiled without NDEBUG. Each source has its own value, so it is used as a
/// default argument only, and passed on.
#ifdef NDEBUG
constexpr bool source_has_assertions = false;
#else
constexpr bool source_has_assertions = true;
#endif

/// The communicator on which processes tell each other that they have failed; null outside an environment.
inline MPI_Comm failures = MPI_COMM_NULL;

struct failure {
  std::string text;
  int exit_status = 70;
};

failure failure_of(std::exception_ptr thrown);

/// What is known of an exception while it passes a destructor, that of an object with this name: the words of
/// an error of ours. Those of other exceptions are told to a handler, or to `std::terminate`, alone.
failure failure_passing(std::string const& scope);

/// Prints one line for the whole job and ends it.
[[noreturn]] void end_job(failure const& mine);

/// Ends the job like an exception that leaves `main`, also where no `environment` has said how that is done.
[[noreturn]] void end_by_exception();

/// Whether MPI has been stopped.
bool mpi_has_ended();

/// A mesh is made where MPI does not run. Errors: `software_error`; if nobody catches it, it is one line and
/// its status, though there is no environment.
[[noreturn]] void throw_without_mpi();

/// A mesh is destroyed after MPI has ended, on the process `rank` of it, which says so.
[[noreturn]] void end_after_mpi(std::string_view mesh, int rank);

}  // namespace detail

/// The first object of `main`. It starts MPI unless MPI already runs, and stops what it started.
///
/// An exception that leaves `main`, or any other call of `std::terminate`, ends all processes with one line
/// on stderr and the status of the error, 70 for exceptions of other libraries. So does an exception that
/// leaves the scope of the environment on its way to an outer handler, since MPI could wait for the other
/// processes forever: handle it inside. With one process nobody waits, and the outer handler runs.
///
/// If the standard output could not be written to its end, the program ends with 69 and a line on stderr.
///
/// The work of the process is shared by one thread, itself, unless the environment variable MESHTF_THREADS,
/// or else the program (`meshtf::environment env{argc, argv, meshtf::threads{4}};`), asks for more. The
/// results have the same bits. Functions of the program (in `map`) run on one thread unless they are marked.
/// The other threads end with the environment.
/// Errors: `usage_error` if that is not a positive number, or more than the cores that the process may use.
///
/// `meshtf::trace{"step.json", 3, 5}`, or the environment variable MESHTF_TRACE, has it write a trace of some
/// steps at its end.
///
/// If the source that constructs it is compiled without NDEBUG, the processes of every mesh compare each
/// call (`call_check`), unless MESHTF_CHECK is 0.
class environment {
public:
  environment(int& argc, char**& argv, environment_settings const& settings = {},
              bool compare_calls = detail::source_has_assertions, threads wished = {},
              trace const& traced = {});

  /// The same with more threads. A template, so that `{}` is settings.
  template<std::same_as<threads> Threads>
  environment(int& argc, char**& argv, Threads wished, environment_settings const& settings = {},
              bool compare_calls = detail::source_has_assertions)
      : environment{argc, argv, settings, compare_calls, wished} {}

  /// The same with a trace, and perhaps with more threads.
  template<std::same_as<trace> Trace>
  environment(int& argc, char**& argv, Trace const& traced, environment_settings const& settings = {},
              bool compare_calls = detail::source_has_assertions)
      : environment{argc, argv, settings, compare_calls, {}, traced} {}
  template<std::same_as<threads> Threads, std::same_as<trace> Trace>
  environment(int& argc, char**& argv, Threads wished, Trace const& traced,
              environment_settings const& settings = {}, bool compare_calls = detail::source_has_assertions)
      : environment{argc, argv, settings, compare_calls, wished, traced} {}

  environment(environment const&)            = delete;
  environment& operator=(environment const&) = delete;

  ~environment();

  boost::mpi::communicator world() const { return {}; }

private:
  [[noreturn]] static void terminate();

  detail::watchdog watchdog_;
  std::optional<detail::waiting> begins_or_ends_;  // while MPI starts, and while it stops
  std::unique_ptr<detail::trace_log> trace_;
  boost::mpi::environment mpi_;
  std::terminate_handler previous_;
  int exceptions_;
};

#if MESHTF_DEFINES_RUNTIME

namespace detail {

MESHTF_DEFINE failure failure_of(std::exception_ptr thrown) {
  if (!thrown) return {"std::terminate was called"};
  try {
    std::rethrow_exception(thrown);
  } catch (error const& e) {
    return {e.what(), e.exit_status()};
  } catch (std::bad_alloc const&) {
    return {"out of memory: the system refused an allocation: split more dimensions, or use more machines",
            69};  // that of `unavailable`
  } catch (std::exception const& e) {
    return {*e.what() != '\0' ? e.what() : "an exception without words"};
  } catch (char const* sentence) {  // of a rule that the compiler can also follow, as `repeat`
    constexpr std::string_view ours = "meshtf: ";
    return {std::string{std::string_view{sentence}.starts_with(ours) ? sentence + ours.size() : sentence}};
  } catch (...) {
    return {"an exception that is no std::exception"};
  }
}

MESHTF_DEFINE failure failure_passing(std::string const& scope) {
  auto const& latest = error::latest();
  if (latest.words != nullptr) return {latest.text, latest.exit_status};
  return {"an exception of another library left the scope of " + scope +
          " for a handler outside: handle it inside of that scope, or nowhere, and it is named here"};
}

// <chrono> and <thread> would add a third of a second of compile time to every program that includes this.
MESHTF_DEFINE void sleep_for_milliseconds(long n) {
  timespec const rest{.tv_sec = n / 1000, .tv_nsec = n % 1000 * 1'000'000};
  nanosleep(&rest, nullptr);
}

/// Whether every process calls this with the same failure within `patience` milliseconds.
MESHTF_DEFINE bool all_fail_alike(failure const& mine, long patience) {
  std::uint64_t const hash = std::hash<std::string>{}(mine.text);
  std::uint64_t const sent[]{hash, ~hash};  // all hashes are equal if the smallest is also the largest
  std::uint64_t bounds[2]{};
  MPI_Request all_here;
  if (MPI_Iallreduce(sent, bounds, 2, MPI_UINT64_T, MPI_MIN, failures, &all_here) != MPI_SUCCESS)
    return false;
  double const end = MPI_Wtime() + 1e-3 * static_cast<double>(patience);
  for (int done = 0; MPI_Wtime() < end; sleep_for_milliseconds(1)) {
    if (MPI_Test(&all_here, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return bounds[0] == ~bounds[1];
  }
  return false;
}

/// Processes wait a little before they report, lower ranks less; the first one to report ends the others.
[[noreturn]] MESHTF_DEFINE void end_job(failure const& mine) {
  waits.number.store(0);  // from here on, this function does the reporting
  int up          = 0;
  int down        = 0;
  int rank        = 0;
  int size        = 1;
  int main_thread = 0;
  MPI_Initialized(&up);
  MPI_Finalized(&down);
  bool const talks = up != 0 && down == 0 && failures != MPI_COMM_NULL;
  if (talks) {
    MPI_Comm_rank(failures, &rank);
    MPI_Comm_size(failures, &size);
    MPI_Is_thread_main(&main_thread);
  }
  bool alike = size == 1;
  if (size > 1) {
    long const turn = 200 + 20 * std::min(rank, 50);
    if (main_thread != 0) {
      alike = all_fail_alike(mine, turn);
      if (rank > 0 && alike) sleep_for_milliseconds(5000);  // process 0 reports for all and ends this one
      if (rank > 0 && !alike) sleep_for_milliseconds(20 * std::min(rank, 50));
    } else {
      sleep_for_milliseconds(turn);
    }
  }
  std::cout.flush();
  std::fflush(stdout);
  std::string line = "meshtf: " + mine.text;
  if (!alike) line += " (process " + std::to_string(rank) + " of " + std::to_string(size) + ")";
  line += "\n";
  // unbuffered, in one write: lines of different processes don't mix
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (size > 1) MPI_Abort(MPI_COMM_WORLD, mine.exit_status);
  std::_Exit(mine.exit_status);
}

[[noreturn]] MESHTF_DEFINE void end_by_exception() { end_job(failure_of(std::current_exception())); }

MESHTF_DEFINE bool mpi_has_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

[[noreturn]] MESHTF_DEFINE void throw_without_mpi() {
  std::set_terminate(end_by_exception);
  throw software_error(
      mpi_has_ended() ? "MPI has ended: make a process_mesh while the meshtf::environment lives"
                      : "MPI is not up: make a meshtf::environment (or call MPI_Init) before a process_mesh");
}

[[noreturn]] MESHTF_DEFINE void end_after_mpi(std::string_view mesh, int rank) {
  if (rank != 0) std::_Exit(70);
  end_job({"the process_mesh of " + std::string{mesh} +
           " lives longer than MPI: declare the meshtf::environment first, and neither a mesh nor what is on "
           "it static"});
}

/// At the end of the program: what it printed must be written, or its status says so.
MESHTF_DEFINE void check_output() {
  errno              = 0;
  bool const written = std::fflush(stdout) == 0;
  if (written && std::ferror(stdout) == 0) return;
  std::string const line = "meshtf: expected to write all of the standard output, got: " +
                           std::string{errno != 0 ? std::strerror(errno) : "an error"} +
                           ": make room, or send it elsewhere\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::_Exit(69);
}

MESHTF_DEFINE void check_output_at_exit() {
  static bool const asked = std::atexit(check_output) == 0;
  static_cast<void>(asked);
}

MESHTF_DEFINE void keep_memory() {
#if defined(M_TRIM_THRESHOLD) && defined(M_MMAP_THRESHOLD)
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc accepts no more
#endif
}

MESHTF_DEFINE void report_kernels() {
  std::string const compiled{kernel::kernels_instruction_set()};
  std::string const processor{kernel::processors_instruction_set()};
  if (compiled != processor && std::getenv("MESHTF_ARCHITECTURES") == nullptr)
    std::cerr << kernel::advice_for_wider_kernels(compiled, processor, MESHTF_HAS_COMPILED_PART) + "\n";
  if (kernel::blas_kernel_is_generic())
    std::cerr << "meshtf: OpenBLAS does not know this CPU and uses its " +
                     std::string{kernel::blas_kernel_name()} +
                     " kernel: set OPENBLAS_CORETYPE=" + (processor == "avx512" ? "SkylakeX" : "Haswell") +
                     "\n";
  if (kernel::thread_count() > 1 && kernel::blas_is_for_one_thread())
    std::cerr
        << "meshtf: this OpenBLAS was built for programs of one thread, so threads take turns in matrix "
           "products of double and in small ones of "
           "float: link one that was built with threads (Debian: libopenblas0-pthread)\n";
}

}  // namespace detail

MESHTF_DEFINE environment::environment(int& argc, char**& argv, environment_settings const& settings,
                                       bool compare_calls, threads wished, trace const& traced)
    : begins_or_ends_{std::in_place, "the start of the program (MPI_Init)"},
      mpi_{argc, argv, boost::mpi::threading::funneled, false},
      previous_{std::set_terminate(terminate)},
      exceptions_{std::uncaught_exceptions()} {
  detail::check_output_at_exit();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &detail::failures);
  MPI_Comm_set_name(detail::failures, "failures");
  if (settings.flush_denormals)
    kernel::set_float_control(kernel::float_control() | kernel::flushes_denormals);
  if (std::string const objection = kernel::objection_to_processor(); !objection.empty())
    throw usage_error(objection);
  int const number = detail::thread_number(wished);
  if (settings.one_gemm_thread || number > 1) kernel::use_one_library_thread();
  kernel::use_threads(number);
  if (settings.keep_memory) detail::keep_memory();
  if (settings.report_kernels && world().rank() == 0) {
    detail::report_kernels();
    kernel::tell_of_widened_products = true;
  }
  detail::compares_calls_by_default = compare_calls;
  watchdog_.start(MPI_COMM_WORLD, settings.report_waiting);
  trace_ = detail::trace_log::if_wanted(MPI_COMM_WORLD, traced);
  begins_or_ends_.reset();
}

MESHTF_DEFINE environment::~environment() {
  if (std::uncaught_exceptions() > exceptions_ && world().size() > 1)
    detail::end_job(detail::failure_passing("meshtf::environment"));
  kernel::use_threads(1);
  {
    detail::waiting const here{"the writing of the trace"};
    trace_.reset();
  }
  std::set_terminate(previous_);
  detail::compares_calls_by_default = false;
  begins_or_ends_.emplace("the end of the program (MPI_Finalize)");
  MPI_Comm_free(&detail::failures);
}

MESHTF_DEFINE void environment::terminate() { detail::end_by_exception(); }

#endif

}  // namespace v0
}  // namespace meshtf
