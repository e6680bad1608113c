// How a benchmark starts and ends: MPI, what it says when something fails, and its exit status.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <cstdio>
#include <exception>

#include <meshtf/core/error.hpp>
#include <meshtf/runtime/environment.hpp>

namespace bench {

/// Calls `f` between MPI_Init and MPI_Finalize, and returns what `main` returns.
///
/// What `f` throws, perhaps on one process alone, while the others wait for it, is left to `std::terminate`:
/// a handler here would come too late, since a mesh that an exception passes while arrays are on it ends the
/// job, and can't know the exception's words.
template<class F>
int run_program(int argc, char** argv, F const& f) {
  MPI_Init(&argc, &argv);
  int status = 0;
  int rank   = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &meshtf::detail::failures);
  std::set_terminate(meshtf::detail::end_by_exception);
  try {
    f();
  } catch (meshtf::usage_error const& e) {  // on every process
    if (rank == 0) std::fprintf(stderr, "benchmarks: %s\n", e.what());
    status = e.exit_status();
  }
  MPI_Comm_free(&meshtf::detail::failures);
  MPI_Finalize();
  return status;
}

}  // namespace bench
