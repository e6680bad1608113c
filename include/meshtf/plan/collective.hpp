// Collectives: how processes join their parts, and what that costs one of them.
#pragma once

#include <cstdint>
#include <string_view>

#include <meshtf/core/dim.hpp>
#include <meshtf/core/element.hpp>

namespace meshtf {
inline namespace v0 {

/// `neighbours`: each process hands elements to the one whose part comes next, or at a given distance in
/// parts. `scan`: each gets what the parts before its own are joined to. `hand_on`: one stage of a pipeline
/// sends to another.
enum class collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  permute,
  neighbours,
  scan,
  hand_on
};

/// How a collective, or a reduction within a process, joins two values.
enum class reduction : std::uint8_t { sum, max, min, product };

constexpr std::string_view to_string(collective c) {
  switch (c) {
    case collective::all_reduce: return "all_reduce";
    case collective::all_gather: return "all_gather";
    case collective::reduce_scatter: return "reduce_scatter";
    case collective::all_to_all: return "all_to_all";
    case collective::broadcast: return "broadcast";
    case collective::permute: return "permute";
    case collective::neighbours: return "neighbours";
    case collective::scan: return "scan";
    case collective::hand_on: return "hand_on";
  }
  return "?";
}

constexpr std::string_view to_string(reduction r) {
  switch (r) {
    case reduction::sum: return "sum";
    case reduction::max: return "max";
    case reduction::min: return "min";
    case reduction::product: return "product";
  }
  return "?";
}

/// Bytes of the send buffer that one of `processes` hands to MPI. `bytes` is what the process holds before
/// the call: the whole value of an all-reduce or a reduce-scatter, its shard for an all-gather or an
/// all-to-all.
///
/// A reduce-scatter is n-1 pairwise exchanges of one part each, so the process's own part is never handed
/// over. Of neighbours and of a scan, a process at the end of the row hands over nothing: the figure is that
/// of the others. A sum of figures is a bound: of two parts, each is at the end in one of a halo's two calls,
/// so none hands over both.
constexpr extent payload_of(collective c, extent bytes, extent processes) {
  return c == collective::reduce_scatter ? bytes / processes * (processes - 1) : bytes;
}

/// Bytes that one process sends under the ring model (all-reduce, all-gather, reduce-scatter), or to the
/// others one by one (all-to-all, permute). In a scan, each process hands on to the next what has come to it,
/// joined with its own. Source: Thakur, Rabenseifner, Gropp, Optimization of Collective Communication
/// Operations in MPICH (2005).
constexpr extent sent_by_one(collective c, extent bytes, extent processes) {
  extent const part = bytes / processes;
  switch (c) {
    case collective::all_reduce: return 2 * bytes * (processes - 1) / processes;
    case collective::all_gather: return bytes * (processes - 1);
    case collective::reduce_scatter: return part * (processes - 1);
    case collective::all_to_all: return bytes * (processes - 1) / processes;
    case collective::broadcast:
    case collective::permute: return bytes;
    case collective::neighbours:
    case collective::hand_on:
    case collective::scan: return processes > 1 ? bytes : 0;
  }
  return 0;
}

/// The same for a call whose send buffer has `payload` bytes.
constexpr extent sent_for(collective c, extent payload, extent processes) {
  return c == collective::reduce_scatter ? payload : sent_by_one(c, payload, processes);
}

/// Messages that one of `processes` sends one after the other: around the ring (all-reduce, all-gather), or
/// to each other process in turn. A scan passes through all processes, and the last waits for all messages
/// before.
constexpr extent messages_of(collective c, extent processes) {
  switch (c) {
    case collective::all_reduce: return 2 * (processes - 1);
    case collective::all_gather:
    case collective::reduce_scatter:
    case collective::all_to_all:
    case collective::scan: return processes - 1;
    case collective::broadcast:
    case collective::permute:
    case collective::hand_on:
    case collective::neighbours: return 1;
  }
  return 0;
}

/// Elements of one message of a pairwise reduce-scatter whose parts have `part` elements: 256 KiB, so that a
/// message is still in cache when it is added.
constexpr extent exchange_piece(extent part, extent element_bytes) {
  extent const limit = 256 * 1024 / element_bytes;
  return part < limit ? part : limit;
}

/// The type as which local terms travel if MPI adds them: rounding to bfloat16 at each hop would lose more
/// with each process.
constexpr element added_as(element type) { return type == element::bfloat16 ? element::float32 : type; }

/// Elements of `type` in the scratch memory of a pairwise reduce-scatter: a message that arrives, and before
/// it, where the sum of a narrow type is kept in a wider one until it is rounded, such a sum.
constexpr extent exchange_scratch(extent part, element type) {
  extent const piece = exchange_piece(part, bytes_of(type));
  return piece + (added_as(type) == type ? 0 : piece * bytes_of(added_as(type)) / bytes_of(type));
}

/// Elements of each process's part of an exchanged sum of `count` elements; the last parts may be shorter.
constexpr extent part_of_sum(extent count, extent processes) { return (count + processes - 1) / processes; }
/// Elements in the buffer for what arrives: a part from each other process.
constexpr extent received_in_sum(extent count, extent processes) {
  return (processes - 1) * part_of_sum(count, processes);
}

/// Whether an all-reduce is made as a pairwise reduce-scatter and an all-gather: if the array is long and has
/// a part for each process. The two calls hand over and send as many bytes as the one; from a few MiB on they
/// take less time than MPI_Allreduce of Open MPI 4.1 (docs/decisions/communication.md).
constexpr bool reduces_in_parts(extent count, extent element_bytes, extent processes) {
  constexpr extent long_array = 4 * 1024 * 1024;
  return count * element_bytes >= long_array && count % processes == 0;
}

/// Whether a sum over processes of several nodes is made in three calls: a reduce-scatter within each node,
/// an all-reduce of the parts between nodes, and an all-gather within each node. With n processes a node,
/// each process then sends 1/n of the bytes between nodes, at the price of two more calls. A short array goes
/// in one call, because the calls themselves take most of the time.
/// Source: the two-level all-reduce of NCCL, Horovod and others; Thakur and others (2005) for the two halves.
constexpr bool reduces_by_nodes(extent count, extent element_bytes, extent processes, extent nodes) {
  constexpr extent long_array = 64 * 1024;
  return processes > 1 && nodes > 1 && count * element_bytes >= long_array && count % processes == 0;
}

}  // namespace v0
}  // namespace meshtf
