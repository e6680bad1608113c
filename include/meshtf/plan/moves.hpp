// Moves: the steps by which a value gets from one placement to another, and what they cost a process.
#pragma once

#include <array>
#include <cstdint>

#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf::inline v0 {

enum class transfer : std::uint8_t { slice, reduce_scatter, all_to_all, all_reduce, all_gather };

/// One step on the way: what a process does with its row-major shard, in terms that need no dimensions. Counts are elements.
///
/// A collective is one call on the joint communicator of the axes `over`, whose ranks are row-major in the mesh's order of axes, whatever the order in which
/// they split a dimension. Its buffers are [one block for each rank][block]: `pack` (shard to send buffer) and `unpack` (receive buffer to shard) walk over
/// the two arrays from their starts. Without them the shard is that buffer as it lies.
struct reshard_move {
  transfer what    = transfer::slice;
  bool packs       = false;
  bool unpacks     = false;
  axis_set over    = 0;
  extent processes = 1;  // along `over`
  extent send      = 0;  // held before
  extent result    = 0;  // held after
  extent block     = 0;  // of one message
  nest_steps pack{};  // of a slice: the copy, from the offset below to the result
  nest_steps unpack{};
  std::array<extent, max_axes> offset{};  // of a slice, for each axis: times the coordinate of the process; their sum is where its part starts
};

/// Why there are no moves. The dimension is the place in the tensor, the axis its number in the mesh.
struct reshard_fault {
  enum kind { none, sizes_differ, owed_axis_splits, needs_permutation, too_many_loops } what = none;
  int dim = 0, axis = 0;
};

/// Each move takes away, adds or sums at least one axis, and no axis takes part in two.
inline constexpr int max_moves = max_axes;

struct reshard_steps {
  int count = 0;
  reshard_fault fault{};
  std::array<reshard_move, max_moves> moves{};

  constexpr auto begin() const { return moves.begin(); }
  constexpr auto end() const { return moves.begin() + count; }
};

/// Which collective a move that is no slice calls.
constexpr collective collective_of(reshard_move const& m) {
  switch (m.what) {
    case transfer::reduce_scatter: return collective::reduce_scatter;
    case transfer::all_to_all: return collective::all_to_all;
    case transfer::all_gather: return collective::all_gather;
    default: return collective::all_reduce;
  }
}

/// Bytes of the send buffer that a process hands to MPI; a slice hands over none.
constexpr extent payload_of(reshard_move const& m, extent element_bytes) {
  return m.what == transfer::slice ? 0 : payload_of(collective_of(m), m.send * element_bytes, m.processes);
}

constexpr extent sent_by_one(reshard_move const& m, extent element_bytes) {
  return m.what == transfer::slice ? 0 : sent_by_one(collective_of(m), m.send * element_bytes, m.processes);
}

/// Elements of the buffers that a move needs beside its source and its result: the packed shard if it packs, the messages as they came if it unpacks, and
/// one incoming piece for the pairwise reduce-scatter. A slice copies straight into the result; an all-reduce works in place, there.
constexpr extent scratch_of(reshard_move const& m, extent element_bytes) {
  if (m.what == transfer::slice || m.what == transfer::all_reduce) return 0;
  return (m.packs ? m.send : 0) + (m.unpacks ? m.result : 0) + (m.what == transfer::reduce_scatter ? exchange_piece(m.block, element_bytes) : 0);
}

}  // namespace meshtf::inline v0
