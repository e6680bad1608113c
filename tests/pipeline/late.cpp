// test: program pipeline
// Sends that are late: nothing is buffered by MPI, and each call waits a random while first. What relied on a
// buffer, or on who comes first, would wait for ever or have other bits. It also counts.
#include <cstdlib>

#include <mpi.h>
#include <unistd.h>

namespace {

int some_number() {
  static unsigned seed = 0;
  if (seed == 0) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    seed = 17 + 31 * static_cast<unsigned>(rank);
  }
  return rand_r(&seed);
}
void wait_a_while() { usleep(static_cast<useconds_t>(some_number() % 300)); }

}  // namespace

/// The bytes that this process has handed to MPI_Isend.
long bytes_begun = 0;

extern "C" {

int MPI_Isend(void const* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r) {
  wait_a_while();
  int size = 0;
  MPI_Type_size(type, &size);
  bytes_begun += long{n} * size;
  return PMPI_Issend(data, n, type, to, tag, comm, r);
}
int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  wait_a_while();
  return PMPI_Recv(data, n, type, from, tag, comm, status);
}
/// Often what has arrived is not noticed, so sums do not arrive in the order in which they began.
int MPI_Testall(int n, MPI_Request* requests, int* ended, MPI_Status* statuses) {
  *ended = 0;
  return some_number() % 2 == 0 ? PMPI_Testall(n, requests, ended, statuses) : MPI_SUCCESS;
}
}
