// The algorithms that Open MPI chooses for a collective, by the number of processes and bytes.
#pragma once

#include <limits>

#include <meshtf/price/machine_model.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// The algorithm for fewer processes and fewer bytes than these.
struct algorithm_threshold {
  extent processes = 0;
  extent bytes     = 0;
  collective_algorithm algorithm{};
};

/// The first threshold that these processes and bytes are below: the thresholds are in order, and the last
/// has no limits.
constexpr collective_algorithm below(algorithm_threshold const* t, extent bytes, extent processes) {
  while (processes >= t->processes || bytes >= t->bytes) ++t;
  return t->algorithm;
}

inline constexpr extent no_limit = std::numeric_limits<extent>::max();

// Source of the three tables: `ompi_coll_tuned_*_intra_dec_fixed` in ompi/mca/coll/tuned/
// coll_tuned_decision_fixed.c of Open MPI 4.1.4; they are the same in its main branch of 2026 and in SimGrid
// 3.32 (`coll-selector:ompi`). Where two of its algorithms take the same messages in the same order, one of
// them stands for both: a segmented ring is a ring, Bruck's all-gather one by recursive doubling, and the
// linear all-to-all that limits its requests a linear one.

struct open_mpi {
  using enum collective_algorithm;

  /// Of the bytes of the array.
  static constexpr algorithm_threshold all_reduce[] = {{4, 8, ring},
                                                       {4, 4096, recursive_doubling},
                                                       {4, 8192, ring},
                                                       {4, 16384, recursive_doubling},
                                                       {4, 262144, ring},
                                                       {4, no_limit, rabenseifner},
                                                       {8, 16, ring},
                                                       {16, 8192, recursive_doubling},
                                                       {16, no_limit, rabenseifner},
                                                       {32, 64, ring},
                                                       {32, 4096, recursive_doubling},
                                                       {32, no_limit, rabenseifner},
                                                       {64, 128, ring},
                                                       {64, no_limit, rabenseifner},
                                                       {128, 262144, recursive_doubling},
                                                       {128, no_limit, rabenseifner},
                                                       {256, 131072, reduce_and_broadcast},
                                                       {256, 262144, recursive_doubling},
                                                       {256, no_limit, rabenseifner},
                                                       {512, 4096, reduce_and_broadcast},
                                                       {512, no_limit, rabenseifner},
                                                       {4096, 2048, reduce_and_broadcast},
                                                       {2048, 16384, recursive_doubling},
                                                       {4096, 4096, ring},
                                                       {4096, 16384, recursive_doubling},
                                                       {4096, no_limit, rabenseifner},
                                                       {no_limit, 2048, reduce_and_broadcast},
                                                       {no_limit, 16384, ring},
                                                       {no_limit, 32768, recursive_doubling},
                                                       {no_limit, no_limit, rabenseifner}};

  /// Of the bytes that one process holds before.
  static constexpr algorithm_threshold all_gather[] = {{32, no_limit, recursive_doubling},
                                                       {64, 1024, recursive_doubling},
                                                       {256, 512, recursive_doubling},
                                                       {256, 1024, neighbour_exchange},
                                                       {128, 65536, neighbour_exchange},
                                                       {128, no_limit, ring},
                                                       {512, 1024, recursive_doubling},
                                                       {512, 131072, neighbour_exchange},
                                                       {512, 524288, ring},
                                                       {512, 1048576, neighbour_exchange},
                                                       {512, no_limit, ring},
                                                       {1024, 2048, recursive_doubling},
                                                       {1024, no_limit, neighbour_exchange},
                                                       {no_limit, 4096, recursive_doubling},
                                                       {no_limit, no_limit, neighbour_exchange}};

  /// Of the bytes for one other process.
  static constexpr algorithm_threshold all_to_all[] = {{3, no_limit, pairwise},
                                                       {8, 524288, linear},
                                                       {8, 1048576, pairwise},
                                                       {16, no_limit, linear},
                                                       {32, 4, linear},
                                                       {64, 512, bruck},
                                                       {64, no_limit, linear},
                                                       {512, 1024, bruck},
                                                       {256, 262144, linear},
                                                       {512, 32768, linear},
                                                       {512, no_limit, pairwise},
                                                       {2048, 512, bruck},
                                                       {1024, 262144, linear},
                                                       {1024, no_limit, pairwise},
                                                       {2048, no_limit, linear},
                                                       {4096, 1024, bruck},
                                                       {4096, no_limit, linear},
                                                       {no_limit, 2048, bruck},
                                                       {no_limit, no_limit, linear}};
};

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
