// How the processes carry out a move of a reshard.
#pragma once

#include <span>

#include <boost/mpi/communicator.hpp>

#include <meshtf/kernel/kernels.hpp>
#include <meshtf/plan/reshard/moves.hpp>
#include <meshtf/runtime/collectives.hpp>

namespace meshtf {
inline namespace v0 {
namespace detail {

/// A move between the processes of `comm`, those along `move.over`, other than an all-reduce: `x` has
/// `move.send` elements, `z` has `move.result`, `scratch` has `scratch_of(move)`. `axes` are the sizes of the
/// mesh's axes.
template<class T>
void carry_out(boost::mpi::communicator const& comm, std::span<extent const> axes, reshard_move const& move,
               T const* x, T* z, T* scratch);

#if MESHTF_DEFINES_RUNTIME

template<class T>
void carry_out(boost::mpi::communicator const& comm, std::span<extent const> axes, reshard_move const& move,
               T const* x, T* z, T* scratch) {
  // the buffer of a reduce-scatter is at the start, where it is aligned for wider elements
  T* const packed =
      scratch +
      (move.kind == transfer_kind::reduce_scatter ? exchange_scratch(move.block, element_of<T>) : 0);
  T* const received = packed + (move.packs ? move.send : 0);
  if (move.packs) kernel::copy_nest(move.pack, packed, x);
  T const* const sent = move.packs ? packed : x;
  T* const arriving   = move.unpacks ? received : z;
  switch (move.kind) {
    case transfer_kind::all_gather: all_gather(comm, sent, move.block, arriving); break;
    case transfer_kind::all_to_all: all_to_all(comm, sent, move.block, arriving); break;
    case transfer_kind::reduce_scatter:
      reduce_scatter(comm, reduction::sum, sent, move.block, scratch, arriving);
      break;
    case transfer_kind::permute: {
      auto const partners = partners_of(move, axes, comm.rank());
      permute(comm, sent, static_cast<int>(partners.to), arriving, static_cast<int>(partners.from),
              move.block);
      break;
    }
    default: break;
  }
  if (move.unpacks) kernel::copy_nest(move.unpack, z, static_cast<T const*>(received));
}

#define MESHTF_MOVES(T)                                                                                  \
  template void carry_out(boost::mpi::communicator const&, std::span<extent const>, reshard_move const&, \
                          T const*, T*, T*);
MESHTF_RUNTIME_EACH(MESHTF_MOVES)
#undef MESHTF_MOVES

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
