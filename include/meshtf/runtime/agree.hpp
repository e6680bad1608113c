// An error that one process sees is thrown on every process, so that none waits for a process that has left.
#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/runtime/check.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

namespace meshtf {
inline namespace v0 {

/// Called by all processes of `comm`, each with the exception that it caught, or null. If any caught one, all
/// throw the message of the lowest such process, in the class that its status stands for. One all-reduce of
/// two numbers if nothing failed.
///
/// On the communicator of a mesh that compares its calls (`call_check`), this is one of the calls.
/// Errors: `software_error` if what arrives was sent by no `agree`: another process calls something else.
void agree(boost::mpi::communicator const& comm, std::exception_ptr const& caught,
           std::source_location at = std::source_location::current());

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE void agree(boost::mpi::communicator const& comm, std::exception_ptr const& caught,
                         std::source_location at) {
  detail::waiting const here{"agreed", at};
  if (auto* const check = call_check::of(comm))
    check->compare(fnv1a{} << "agreed", [&] {
      return "calls agreed, " + std::string{detail::place_text({"agreed", at, false}).view()};
    });
  int const size = comm.size();
  int const rank = comm.rank();
  // "agre": other calls don't send that by chance
  constexpr int some = 0x61677265;
  constexpr int all  = some + 1;
  // the lowest process that failed; whether all failed
  int seen[]{caught ? rank : size, caught ? all : some};
  meshtf::all_reduce(comm, reduction::min, seen, 2);
  auto const [first, failed] = seen;
  bool const possible        = caught ? first >= 0 && first <= rank && (failed == some || failed == all)
                                      : first >= 0 && first != rank && failed == some;
  if (!possible)
    throw software_error(
        "expected all processes to call agreed as process " + std::to_string(rank) + " does, " +
        std::string{detail::place_text({"agreed", at, false}).view()} +
        ", got numbers that agreed does not send: another process calls something else: run again with "
        "MESHTF_CHECK=1, which names"
        " the first call that differs");
  if (first == size) return;

  auto failure = caught ? detail::failure_of(caught) : detail::failure{};
  int sizes[]{static_cast<int>(failure.text.size()), failure.exit_status};
  meshtf::broadcast(comm, sizes, 2, first);
  failure.text.resize(static_cast<std::size_t>(sizes[0]));
  detail::call(comm, collective::broadcast, sizes[0], MPI_Bcast, failure.text.data(), sizes[0], MPI_CHAR,
               first);
  if (failed == some) failure.text += " (seen by process " + std::to_string(first) + ")";
  throw_error(failure.text, sizes[1]);
}

#endif

/// Runs f() on each process; an error of one is thrown on all. For what only some processes do or see, such
/// as reading a file.
///
///     auto images = agreed(world, [&] { return read_idx(path); });
///
/// f must not communicate over `comm` once it can have failed.
template<class F>
auto agreed(boost::mpi::communicator const& comm, F f,
            std::source_location at = std::source_location::current()) -> std::invoke_result_t<F&> {
  using result = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<result>, "meshtf: what is agreed on is a value");
  std::exception_ptr caught;
  if constexpr (std::is_void_v<result>) {
    try {
      f();
    } catch (...) {
      caught = std::current_exception();
    }
    agree(comm, caught, at);
  } else {
    std::optional<result> made;
    try {
      made.emplace(f());
    } catch (...) {
      caught = std::current_exception();
    }
    agree(comm, caught, at);
    return std::move(*made);
  }
}

}  // namespace v0
}  // namespace meshtf
