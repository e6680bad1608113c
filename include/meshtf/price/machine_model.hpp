// A model of a machine: the seconds that the figures of a cost take.
#pragma once

#include <meshtf/plan/collective.hpp>

namespace meshtf {
inline namespace v0 {

/// The cost of a message on one kind of link.
struct link_model {
  double seconds_per_message = 0;  // alpha: an empty message
  double seconds_per_byte    = 0;  // beta: the inverse of the bandwidth of one process
};

/// Rates of one process, and of the links between processes. The defaults are for processes of one core each,
/// measured by `benchmarks/machine.cpp` on an Emerald Rapids Xeon whose two cores were both busy: the best
/// sgemm; a triad and a sum of arrays larger than the caches; exchanges of 8 bytes and of 16 MiB. The
/// defaults between nodes are those of 100 Gb/s Ethernet with messages of 2 us and were not measured. Run
/// that program on your machine, or set your own rates by name:
///
///     constexpr machine_model gpus{.flops_per_second = 60e12, .memory_bytes_per_second = 3e12,
///     .seconds_per_byte_added = 1 / 3e12,
///                                  .within_node = {3e-6, 1 / 300e9}};
struct machine_model {
  double flops_per_second        = 135e9;
  double memory_bytes_per_second = 13e9;
  double seconds_per_byte_added  = 1 / 6.5e9;  // gamma: what a reduction adds for each byte that arrives
  link_model within_node         = {.seconds_per_message = 0.6e-6, .seconds_per_byte = 1 / 9.4e9};
  link_model between_nodes       = {.seconds_per_message = 2e-6, .seconds_per_byte = 1 / 12.5e9};
};

/// Modelled seconds of a step, by what takes them.
struct modelled_time {
  double products      = 0;  // contractions, at the rate of flops
  double passes        = 0;  // everything else, at the bandwidth of memory
  double within_node   = 0;  // collectives, except those over an axis between nodes
  double between_nodes = 0;
  double hidden        = 0;  // of the collectives: while the process computes (`early_sums`)

  constexpr double messages() const { return within_node + between_nodes; }
  /// If nothing overlaps.
  constexpr double total() const { return products + passes + messages(); }
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
