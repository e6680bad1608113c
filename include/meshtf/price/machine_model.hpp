// A model of a machine: seconds for what a cost counts.
#pragma once

#include <meshtf/plan/collective.hpp>

namespace meshtf {
inline namespace v0 {

/// What a message costs on one kind of link.
struct link_model {
  double seconds_per_message = 0;  // alpha: a message without content
  double seconds_per_byte    = 0;  // beta: the inverse of the bandwidth that one process has
};

/// Rates of one process, and of the links between processes. The defaults are for processes of one core each, measured by `benchmarks/machine.cpp` on an Emerald
/// Rapids Xeon whose two cores were both busy: the best sgemm; a triad and a sum of arrays that are larger than the caches; exchanges of 8 bytes and of 16 MiB.
/// Between nodes they are those of 100 Gb/s Ethernet with messages of 2 us, which nobody measured here. Run that program on your machine, or set your own by name:
///
///     constexpr machine_model gpus{.flops_per_second = 60e12, .memory_bytes_per_second = 3e12, .seconds_per_byte_added = 1 / 3e12,
///                                  .within_node = {3e-6, 1 / 300e9}};
struct machine_model {
  double flops_per_second        = 135e9;
  double memory_bytes_per_second = 13e9;
  double seconds_per_byte_added  = 1 / 6.5e9;  // gamma: what a reduction adds to each byte that arrives
  link_model within_node         = {.seconds_per_message = 0.6e-6, .seconds_per_byte = 1 / 9.4e9};
  link_model between_nodes       = {.seconds_per_message = 2e-6, .seconds_per_byte = 1 / 12.5e9};
};

/// Modelled seconds of a step, by what they are spent on. They add up: nothing is overlapped.
struct modelled_time {
  double products      = 0;  // contractions, at the rate of flops
  double passes        = 0;  // everything else, at the bandwidth of memory
  double within_node   = 0;  // collectives, those over an axis between nodes apart
  double between_nodes = 0;

  constexpr double messages() const { return within_node + between_nodes; }
  constexpr double total() const { return products + passes + messages(); }
};

/// Bytes that one process adds to others; `payload` as in `payload_of`.
constexpr extent bytes_added(collective c, extent payload, extent processes) {
  if (c == collective::reduce_scatter) return payload;
  return c == collective::all_reduce ? payload * (processes - 1) / processes : 0;
}

}  // namespace v0
}  // namespace meshtf
