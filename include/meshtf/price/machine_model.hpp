// A model of a machine: the seconds that the figures of a cost take.
#pragma once

#include <cstdint>
#include <limits>

#include <meshtf/plan/collective.hpp>

namespace meshtf {
inline namespace v0 {

/// The cost of a message on one kind of link.
struct link_model {
  double seconds_per_message = 0;  // alpha: an empty message
  double seconds_per_byte    = 0;  // beta: the inverse of the bandwidth of one process
};

/// How the processes of a collective exchange their messages. What each takes, and its source:
/// `steps_of` in price/collective_algorithm.hpp.
enum class collective_algorithm : std::uint8_t {
  ring,
  recursive_doubling,
  rabenseifner,          // a reduce-scatter by recursive halving, an all-gather by recursive doubling
  reduce_and_broadcast,  // up a tree and down again
  neighbour_exchange,
  pairwise,
  bruck,
  linear,         // all messages at once
  binomial_tree,  // of a broadcast
  direct          // one process to another
};

/// Which algorithm a machine takes for a collective (price/collective_algorithm.hpp).
///
/// `cheapest`: the one that takes the fewest seconds for these bytes and processes. `open_mpi`: that of Open
/// MPI's fixed thresholds, which were measured on clusters and know nothing of this machine's links.
/// `ring`: a ring, or each pair in turn, whatever the bytes.
enum class algorithm_choice : std::uint8_t { cheapest, open_mpi, ring };

/// Rates of one process, and of the links between processes. The defaults are for processes of one core each,
/// measured by `benchmarks/machine.cpp` on an Emerald Rapids Xeon whose two cores were both busy: the best
/// sgemm; a triad and a sum of arrays larger than the caches; exchanges of 8 bytes and of 16 MiB. The
/// defaults between nodes are those of 100 Gb/s Ethernet with messages of 2 us and were not measured; that of
/// the file is the least at which `spill` is meant to be used (`benchmarks/beyond_memory --only file` prints
/// yours). Run that program on your machine, or set your own rates by name:
///
///     constexpr machine_model gpus{.flops_per_second        = 60e12,
///                                  .memory_bytes_per_second = 3e12,
///                                  .seconds_per_byte_added  = 1 / 3e12,
///                                  .within_node             = {3e-6, 1 / 300e9}};
struct machine_model {
  double flops_per_second        = 135e9;
  double memory_bytes_per_second = 13e9;
  double seconds_per_byte_added  = 1 / 6.5e9;  // gamma: what a reduction adds for each byte that arrives
  link_model within_node         = {.seconds_per_message = 0.6e-6, .seconds_per_byte = 1 / 9.4e9};
  link_model between_nodes       = {.seconds_per_message = 2e-6, .seconds_per_byte = 1 / 12.5e9};
  algorithm_choice algorithms    = algorithm_choice::cheapest;
  double file_bytes_per_second   = 1e9;  // of arrays that leave for a file, or come back: the slower way
  // From one stage of a pipeline to the next, a message of at most these bytes is on its way before the next
  // stage waits for it (MPI's eager protocol); a longer one begins when that stage waits (rendezvous).
  extent eager_limit = std::numeric_limits<extent>::max();
};

/// Modelled seconds of a step, by what takes them.
struct modelled_time {
  double products      = 0;  // contractions, at the rate of flops
  double passes        = 0;  // everything else, at the bandwidth of memory
  double within_node   = 0;  // collectives, except those over an axis between nodes
  double between_nodes = 0;
  double hidden        = 0;  // of the collectives: while the process computes (`early_sums`)
  double copies        = 0;  // of arrays that leave for a file or come back, through the buffer of its thread
  double file          = 0;  // the same arrays, at the rate of the file

  /// Of `bytes` that go to a file or come back. Each is read and written once more in memory.
  constexpr void note_file(extent bytes, machine_model const& machine) {
    copies = 2 * static_cast<double>(bytes) / machine.memory_bytes_per_second;
    file   = static_cast<double>(bytes) / machine.file_bytes_per_second;
  }
  constexpr double messages() const { return within_node + between_nodes; }
  /// What the file takes longer than all else. Arrays leave and come back while the process computes, so no
  /// step waits less; it waits longer where they are not spread evenly over the step.
  constexpr double waited() const {
    double const all_else = products + passes + messages() + copies;
    return file > all_else ? file - all_else : 0;
  }
  /// If no collectives overlap. The copies count in full, as where all cores compute.
  constexpr double total() const { return products + passes + messages() + copies + waited(); }
  /// If the collectives that may go on during computation do, as fast as if the process did nothing else.
  constexpr double overlapped() const { return total() - hidden; }
};

/// Received bytes that one process adds to its own; `payload` as in `payload_of`.
constexpr extent bytes_added(collective c, extent payload, extent processes) {
  if (c == collective::reduce_scatter) return payload;
  return c == collective::all_reduce ? payload * (processes - 1) / processes : 0;
}

}  // namespace v0
}  // namespace meshtf
