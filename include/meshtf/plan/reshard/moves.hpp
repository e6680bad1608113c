// Moves: the steps that bring a value from one placement to another, and what they cost a process.
#pragma once

#include <cstdint>

#include <meshtf/core/small_array.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/plan/nest.hpp>

namespace meshtf {
inline namespace v0 {

/// What a move does: it keeps a part of the shard, or calls the collective of that name.
enum class transfer_kind : std::uint8_t {
  slice,
  reduce_scatter,
  all_to_all,
  all_reduce,
  all_gather,
  permute
};

/// One step of a reshard: what a process does with its row-major shard, described without dimensions. Counts
/// are elements.
///
/// A collective is one call on the joint communicator of the axes `over`, whose ranks are row-major in the
/// mesh's order of axes, whatever the order in which they split a dimension. Its buffers are [one block for
/// each rank][block]. `pack` copies the shard to the send buffer, `unpack` the receive buffer to the shard;
/// both walk over the two arrays from their starts. Without them the shard itself is the buffer.
///
/// A permute sends whole shards to other processes, which `partners_of` names. It needs no copies.
struct reshard_move {
  transfer_kind kind = transfer_kind::slice;
  bool packs         = false;
  bool unpacks       = false;
  axis_set over      = 0;
  extent processes   = 1;  // along `over`
  extent send        = 0;  // held before
  extent result      = 0;  // held after
  extent block       = 0;  // of one message
  nest_steps pack{};       // of a slice: the copy, from the offset below to the result
  nest_steps unpack{};
  // of a slice: the part starts at the sum, over all axes, of this times the coordinate of the process
  small_array<extent, max_axes> offset{};
  small_array<extent, max_axes> holds{},
      // of a permute, as `offset`: the sums are the numbers of the shard that the process has and of the one
      // that it gets
      wants{};
  extent wants_first = 0;  // of a permute: added to the latter
};

/// Why there are no moves. The dimension is its position in the tensor, the axis its number in the mesh.
struct reshard_fault {
  enum kind { none, sizes_differ, unreduced_axis_splits, too_many_loops } reason = none;
  int dim                                                                        = 0;
  int axis                                                                       = 0;
};

/// A reshard has at most this many moves; longer paths are not searched for.
inline constexpr int max_moves = 8;

/// The collective that a move calls, unless it is a slice.
constexpr collective collective_of(transfer_kind kind) {
  switch (kind) {
    case transfer_kind::reduce_scatter: return collective::reduce_scatter;
    case transfer_kind::all_to_all: return collective::all_to_all;
    case transfer_kind::all_gather: return collective::all_gather;
    case transfer_kind::permute: return collective::permute;
    default: return collective::all_reduce;
  }
}
constexpr collective collective_of(reshard_move const& m) { return collective_of(m.kind); }

/// Bytes of the send buffer that a process hands to MPI; a slice hands over none.
constexpr extent payload_of(reshard_move const& m, extent element_bytes) {
  return m.kind == transfer_kind::slice ? 0
                                        : payload_of(collective_of(m), m.send * element_bytes, m.processes);
}

constexpr extent sent_by_one(reshard_move const& m, extent element_bytes) {
  return m.kind == transfer_kind::slice ? 0
                                        : sent_by_one(collective_of(m), m.send * element_bytes, m.processes);
}

/// Elements of the buffers that a move needs besides its source and its result: the packed shard if it packs,
/// the received messages if it unpacks, and one incoming piece for a pairwise reduce-scatter. A slice copies
/// straight into the result; an all-reduce works in place. (This holds over axes within a node: an all-reduce
/// that `reduces_by_nodes` may need one more piece.)
constexpr extent scratch_of(reshard_move const& m, extent element_bytes) {
  switch (m.kind) {
    case transfer_kind::slice:
    case transfer_kind::permute: return 0;
    case transfer_kind::all_reduce:
      return reduces_in_parts(m.send, element_bytes, m.processes)
                 ? exchange_piece(m.send / m.processes, element_bytes)
                 : 0;
    default: break;
  }
  return (m.packs ? m.send : 0) + (m.unpacks ? m.result : 0) +
         (m.kind == transfer_kind::reduce_scatter ? exchange_piece(m.block, element_bytes) : 0);
}
/// The same for elements of a type; one of narrow elements keeps a sum in a wider type.
constexpr extent scratch_of(reshard_move const& m, element type) {
  extent const more = m.kind == transfer_kind::reduce_scatter
                          ? exchange_scratch(m.block, type) - exchange_piece(m.block, bytes_of(type))
                          : 0;
  return scratch_of(m, bytes_of(type)) + more;
}

/// The moves of a reshard, in order.
struct reshard_steps {
  int count    = 0;
  extent shard = 0;  // elements of a process before the first move
  reshard_fault fault{};
  small_array<reshard_move, max_moves> moves{};

  constexpr auto begin() const { return moves.begin(); }
  constexpr auto end() const { return moves.begin() + count; }

  /// The number of collectives among the moves.
  constexpr int calls() const {
    int n = 0;
    for (reshard_move const& m : *this) n += m.kind != transfer_kind::slice;
    return n;
  }

  /// Bytes that one process sends.
  constexpr extent sent_bytes(extent element_bytes) const {
    extent bytes = 0;
    for (reshard_move const& m : *this) bytes += sent_by_one(m, element_bytes);
    return bytes;
  }

  /// The most bytes that a process holds during the moves: the original value, which lives on, the shard
  /// before and after a move, and buffers.
  constexpr extent peak_bytes(extent element_bytes) const {
    extent largest = shard;
    for (int i = 0; i < count; ++i) {
      reshard_move const& m = moves[i];
      bool const in_place   = m.kind == transfer_kind::all_reduce && i > 0;
      extent const local =
          shard + (i > 0 ? m.send : 0) + (in_place ? 0 : m.result) + scratch_of(m, element_bytes);
      if (local > largest) largest = local;
    }
    return largest * element_bytes;
  }
};

/// The ranks along `over` to which a process sends its shard in a permute, and from which it gets one. A
/// process that keeps its shard is its own partner.
struct permute_partners {
  extent to   = 0;
  extent from = 0;
};

/// The processes that have shard k but need another are as many as those that need k but have another: the
/// first that has it gives it to the first that needs it, and so on. A process keeps its shard wherever it
/// can.
constexpr permute_partners partners_of(reshard_move const& m, std::span<extent const> axes, extent rank) {
  struct numbers {
    extent holds = 0;
    extent wants = 0;
  };
  auto const number_of = [&](extent q) {
    numbers n{.wants = m.wants_first};
    for (std::size_t a = axes.size(); a-- > 0;)
      if (m.over >> a & 1) {
        n.holds += q % axes[a] * m.holds[a];
        n.wants += q % axes[a] * m.wants[a];
        q /= axes[a];
      }
    return n;
  };
  numbers const mine = number_of(rank);
  if (mine.holds == mine.wants) return {rank, rank};
  // ranks before this one
  extent givers = 0;
  extent takers = 0;
  for (extent q = 0; q < rank; ++q) {
    numbers const n = number_of(q);
    if (n.holds == n.wants) continue;
    givers += n.holds == mine.holds;
    takers += n.wants == mine.wants;
  }
  permute_partners found;
  for (extent q = 0; q < m.processes; ++q) {
    numbers const n = number_of(q);
    if (n.holds == n.wants) continue;
    if (n.wants == mine.holds && givers-- == 0) found.to = q;
    if (n.holds == mine.wants && takers-- == 0) found.from = q;
  }
  return found;
}

}  // namespace v0
}  // namespace meshtf
