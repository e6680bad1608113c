// Collectives of several arrays in one message for each process: rows that are packed and unpacked in the
// cache.
#pragma once

#include <algorithm>
#include <span>

#include <boost/mpi/communicator.hpp>

#include <meshtf/plan/packed_part.hpp>
#include <meshtf/runtime/collectives.hpp>

namespace meshtf {
inline namespace v0 {

/// Gathers `arrays`, of which this process knows the parts in `own`, a row of n elements. `received` has n
/// elements.
///
/// It exchanges pairwise, and each row that arrives is copied to its places while it is in the cache: the
/// arrays are not copied once more, as they would be from the buffer of MPI_Allgather.
template<Element T>
void gather_rows(boost::mpi::communicator const& comm, std::span<packed_array<T> const> arrays, T const* own,
                 extent n, T* received);

/// `sum` gets the row of this process's parts of `arrays`, added up over the processes in the order of
/// `reduce_scatter`, so the bits are those of each array alone. `buffer` has 2 n elements.
template<Element T>
void reduce_scatter_rows(boost::mpi::communicator const& comm, std::span<packed_array<T const> const> arrays,
                         extent n, T* buffer, T* sum);

#if MESHTF_DEFINES_RUNTIME

template<Element T>
void gather_rows(boost::mpi::communicator const& comm, std::span<packed_array<T> const> arrays, T const* own,
                 extent n, T* received) {
  int const rank     = comm.rank();
  int const size     = comm.size();
  auto const put_row = [&](int from, T const* row) {
    for (packed_array<T> const& a : arrays)
      a.part.for_each_piece(from, [&](extent in_part, extent in_array, extent length) {
        std::copy_n(row + a.offset + in_part, length, a.elements + in_array);
      });
  };
  put_row(rank, own);
  for (int i = 1; i < size; ++i) {
    int const next = (rank + i) % size;
    int const last = (rank - i + size) % size;
    detail::exchange<T>(comm, collective::all_gather, next, own, last, received, n);
    put_row(last, received);
  }
}

template<Element T>
void reduce_scatter_rows(boost::mpi::communicator const& comm, std::span<packed_array<T const> const> arrays,
                         extent n, T* buffer, T* sum) {
  int const rank      = comm.rank();
  int const size      = comm.size();
  auto const take_row = [&](int to, T* row) {
    for (packed_array<T const> const& a : arrays) {
      if (a.elements == nullptr || a.part.is_padded()) std::fill_n(row + a.offset, a.part.shard(), T{});
      if (a.elements == nullptr) continue;
      a.part.for_each_piece(to, [&](extent in_part, extent in_array, extent length) {
        std::copy_n(a.elements + in_array, length, row + a.offset + in_part);
      });
    }
  };
  T* const sent     = buffer;
  T* const received = buffer + n;
  take_row(rank, sum);
  for (int i = 1; i < size; ++i) {
    int const next = (rank + i) % size;
    int const last = (rank - i + size) % size;
    take_row(next, sent);
    detail::exchange<T>(comm, collective::reduce_scatter, next, sent, last, received, n);
    detail::join(reduction::sum, static_cast<T const*>(sum), static_cast<T const*>(received), n, sum);
  }
}

#define MESHTF_ROWS(T)                                                                                       \
  template void gather_rows(boost::mpi::communicator const&, std::span<packed_array<T> const>, T const*,     \
                            extent, T*);                                                                     \
  template void reduce_scatter_rows(boost::mpi::communicator const&, std::span<packed_array<T const> const>, \
                                    extent, T*, T*);
MESHTF_RUNTIME_EACH(MESHTF_ROWS)
#undef MESHTF_ROWS

#endif

}  // namespace v0
}  // namespace meshtf
