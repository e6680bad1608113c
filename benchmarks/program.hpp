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

namespace bench {

/// Calls `f` between MPI_Init and MPI_Finalize, and returns what `main` returns.
template<class F>
int run_program(int argc, char** argv, F const& f) {
  MPI_Init(&argc, &argv);
  int status = 0;
  int rank   = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    f();
  } catch (meshtf::usage_error const& e) {  // on every process
    if (rank == 0) std::fprintf(stderr, "benchmarks: %s\n", e.what());
    status = e.exit_status();
  } catch (std::exception const& e) {  // perhaps on one alone, while the others wait for it
    std::fprintf(stderr, "benchmarks: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 70);
  }
  MPI_Finalize();
  return status;
}

}  // namespace bench
