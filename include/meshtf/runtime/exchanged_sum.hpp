// A sum over processes by a pairwise exchange, which goes on while the process computes.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <mpi.h>
#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/runtime/collectives.hpp>

namespace meshtf {
inline namespace v0 {

/// A sum that has begun. Each process adds up one part of the array: first every process sends its terms of
/// the other parts there (the reduce-scatter), then each sends its sum to all (the all-gather), unless it
/// `scatters`.
struct exchanged_sum {
  boost::mpi::communicator const* over = nullptr;
  extent n                             = 0;
  bool scatters                        = false;  // each process keeps the sum of its part
  bool gathers                         = false;  // this process has added up its part
  int number                           = 0;      // of the mesh's sums, which may be in flight together
  std::vector<MPI_Request> messages{};

  collective kind() const { return scatters ? collective::reduce_scatter : collective::all_reduce; }
  extent part() const { return part_of_sum(n, over->size()); }
  /// Where part number `rank` begins, and how many elements it has.
  extent first(int rank) const { return std::min(rank * part(), n); }
  extent length(int rank) const { return std::min(part(), n - first(rank)); }
};

/// Begins the sum of `data` over the processes of `comm`. The terms of each element are added in the order of
/// ranks, so the bits do not depend on who is late. `received` has `received_in_sum(n, comm.size())`
/// elements. A sum has the same number on all processes of `comm`, and no other that is in flight has it;
/// number and `scatters` are set before.
template<FloatingElement T>
void begin_exchanged_sum(boost::mpi::communicator const& comm, T* data, extent n, T* received,
                         exchanged_sum& s);
/// Goes on with what has arrived, without waiting. Whether this process has added up its part and begun to
/// send the sum.
template<FloatingElement T>
bool advance_exchanged_sum(T* data, T* received, exchanged_sum& s);
/// Waits for the end.
template<FloatingElement T>
void finish_exchanged_sum(T* data, T* received, exchanged_sum& s);

#if MESHTF_DEFINES_RUNTIME

namespace detail {

// The two halves are told apart by their tags, and so are sums: the second half of one may meet the first of
// another, and where two guards go on with sums of their own, processes do so in different orders.
inline int tag_of_terms(exchanged_sum const& s) { return 1024 + 2 * s.number; }
inline int tag_of_sums(exchanged_sum const& s) { return tag_of_terms(s) + 1; }

/// Sends `sent` to process `other` and receives `received` from there, both without waiting.
template<class T>
void begin_exchange(exchanged_sum& s, int other, int tag, T const* sent, extent n_sent, T* received,
                    extent n_received) {
  MPI_Datatype const type = mpi_type(element_of<T>);
  for_each_message(n_received, [&](extent position, int count) {
    MPI_Request& request = s.messages.emplace_back(MPI_REQUEST_NULL);
    call(*s.over, s.kind(), s.n,
         [&](MPI_Comm on) { return MPI_Irecv(received + position, count, type, other, tag, on, &request); });
  });
  for_each_message(n_sent, [&](extent position, int count) {
    MPI_Request& request = s.messages.emplace_back(MPI_REQUEST_NULL);
    call(*s.over, s.kind(), s.n,
         [&](MPI_Comm on) { return MPI_Isend(sent + position, count, type, other, tag, on, &request); });
  });
}

/// f(other, i) for each other process, the nearest first; `i` counts them by rank.
template<class F>
void for_each_other(exchanged_sum const& s, F const& f) {
  int const rank = s.over->rank();
  int const size = s.over->size();
  for (int d = 1; d < size; ++d) {
    int const other = (rank + d) % size;
    f(other, other < rank ? other : other - 1);
  }
}

/// Adds up the terms of this process's part, in the order of ranks.
template<class T>
void add_terms(T* data, T* received, exchanged_sum const& s) {
  int const rank = s.over->rank();
  extent const n = s.length(rank);
  T* const own   = data + s.first(rank);
  auto const sum = [&](T const* x, T const* y, T* z) { join(reduction::sum, x, y, n, z); };
  for (int q = 1; q < rank; ++q) sum(received, received + q * s.part(), received);
  if (rank > 0) sum(received, own, own);
  for (int q = rank + 1; q < s.over->size(); ++q) sum(own, received + (q - 1) * s.part(), own);
}

template<class T>
void begin_gathering(T* data, T* received, exchanged_sum& s) {
  add_terms(data, received, s);
  s.gathers      = true;
  int const rank = s.over->rank();
  s.messages.clear();
  if (s.scatters) return;
  for_each_other(s, [&](int other, int) {
    begin_exchange<T>(s, other, tag_of_sums(s), data + s.first(rank), s.length(rank), data + s.first(other),
                      s.length(other));
  });
}

// It waits for nobody, so it is no `call`: it would fill the record of the last ones.
MESHTF_DEFINE bool all_arrived(exchanged_sum& s) {
  int arrived = 0;
  int const failure =
      MPI_Testall(static_cast<int>(s.messages.size()), s.messages.data(), &arrived, MPI_STATUSES_IGNORE);
  if (failure != MPI_SUCCESS) throw_failed(*s.over, s.kind(), s.n, failure);
  return arrived != 0;
}
MESHTF_DEFINE void wait_for_all(exchanged_sum& s) {
  call(*s.over, s.kind(), s.n, [&](MPI_Comm) {
    return MPI_Waitall(static_cast<int>(s.messages.size()), s.messages.data(), MPI_STATUSES_IGNORE);
  });
}

}  // namespace detail

template<FloatingElement T>
void begin_exchanged_sum(boost::mpi::communicator const& comm, T* data, extent n, T* received,
                         exchanged_sum& s) {
  s.over         = &comm;
  s.n            = n;
  s.gathers      = false;
  int const rank = comm.rank();
  s.messages.clear();
  detail::for_each_other(s, [&](int other, int i) {
    detail::begin_exchange<T>(s, other, detail::tag_of_terms(s), data + s.first(other), s.length(other),
                              received + i * s.part(), s.length(rank));
  });
}

template<FloatingElement T>
bool advance_exchanged_sum(T* data, T* received, exchanged_sum& s) {
  if (!detail::all_arrived(s)) return s.gathers;
  if (!s.gathers) detail::begin_gathering(data, received, s);
  return true;
}

template<FloatingElement T>
void finish_exchanged_sum(T* data, T* received, exchanged_sum& s) {
  detail::wait_for_all(s);
  if (!s.gathers) {
    detail::begin_gathering(data, received, s);
    if (!s.scatters) detail::wait_for_all(s);
  }
  s.messages.clear();
}

#define MESHTF_EXCHANGED_SUM(T)                                                                       \
  template void begin_exchanged_sum(boost::mpi::communicator const&, T*, extent, T*, exchanged_sum&); \
  template bool advance_exchanged_sum(T*, T*, exchanged_sum&);                                        \
  template void finish_exchanged_sum(T*, T*, exchanged_sum&);
MESHTF_EXCHANGED_SUM(float)
MESHTF_EXCHANGED_SUM(double)
#undef MESHTF_EXCHANGED_SUM

#endif

}  // namespace v0
}  // namespace meshtf
