// What MPI itself is asked to do: every call that communicates, in order, as a shim between this program and
// MPI sees it.
#pragma once

#include <cstdint>
#include <span>

#include <mpi.h>

namespace pmpi {

struct call {
  char const* function = "";  // "Allreduce"
  // of the send buffer; of functions that the library has no use for, as far as their arguments tell
  std::int64_t bytes = 0;
  MPI_Datatype type  = MPI_DATATYPE_NULL;
  char communicator[MPI_MAX_OBJECT_NAME]{};
};

/// Forgets what was noted, and notes from here on. Nothing is allocated.
void start();

/// What this process called since `start`; nothing is noted any more. It is there until the next `start`.
std::span<call const> stop();

/// The call that comes after `calls` others fails: it returns MPI_ERR_OTHER and does nothing. To be asked of
/// all processes alike, so that none waits.
void fail_after(int calls);

}  // namespace pmpi
