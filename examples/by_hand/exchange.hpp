// Raw MPI: the sum of an array over all processes, by the way that is fastest at its size.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace by_hand {

/// Floats of one message of a pairwise exchange: 256 KiB, so that what arrives is still in the cache when it
/// is added.
inline constexpr std::int64_t piece = 1 << 16;

/// Where the part of one process begins, of `n` elements in as many parts as there are processes.
inline std::int64_t part_begin(std::int64_t n, int processes, int rank) { return n * rank / processes; }

/// Sums the part of the calling process over all processes, in place; the other parts stay as they are.
/// `scratch` holds a `piece`.
///
/// MPI_Reduce_scatter_block of Open MPI 4.1 takes several times as long.
inline void reduce_scatter(MPI_Comm comm, float* data, std::int64_t n, float* scratch) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  auto const mine      = part_begin(n, size, rank);
  auto const my_length = part_begin(n, size, rank + 1) - mine;

  for (int step = 1; step < size; ++step) {
    int const to            = (rank + step) % size;
    int const from          = (rank + size - step) % size;
    auto const theirs       = part_begin(n, size, to);
    auto const their_length = part_begin(n, size, to + 1) - theirs;
    for (std::int64_t at = 0; at < std::max(my_length, their_length); at += piece) {
      auto const send    = std::clamp(their_length - at, std::int64_t{0}, piece);
      auto const receive = std::clamp(my_length - at, std::int64_t{0}, piece);
      MPI_Sendrecv(data + theirs + std::min(at, their_length), static_cast<int>(send), MPI_FLOAT, to, 0,
                   scratch, static_cast<int>(receive), MPI_FLOAT, from, 0, comm, MPI_STATUS_IGNORE);
      float* const sum = data + mine + std::min(at, my_length);
      for (std::int64_t i = 0; i < receive; ++i) sum[i] += scratch[i];
    }
  }
}

/// Hands the part of every process to all others, in place.
inline void all_gather(MPI_Comm comm, float* data, std::int64_t n) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (n % size == 0) {
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, static_cast<int>(n / size), MPI_FLOAT, comm);
    return;
  }
  auto const length = [&](int r) {
    return static_cast<int>(part_begin(n, size, r + 1) - part_begin(n, size, r));
  };
  for (int step = 1; step < size; ++step) {
    int const to   = (rank + step) % size;
    int const from = (rank + size - step) % size;
    MPI_Sendrecv(data + part_begin(n, size, rank), length(rank), MPI_FLOAT, to, 0,
                 data + part_begin(n, size, from), length(from), MPI_FLOAT, from, 0, comm, MPI_STATUS_IGNORE);
  }
}

/// Sums over all processes, in place: small arrays by MPI_Allreduce, large ones as a pairwise reduce-scatter
/// and an all-gather. The two meet between 1 and 2 MiB (Open MPI 4.1 through shared memory, 2 and 4
/// processes).
inline void all_reduce(MPI_Comm comm, float* data, std::int64_t n, float* scratch) {
  if (n < std::int64_t{1} << 19) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(n), MPI_FLOAT, MPI_SUM, comm);
  } else {
    reduce_scatter(comm, data, n, scratch);
    all_gather(comm, data, n);
  }
}

}  // namespace by_hand
