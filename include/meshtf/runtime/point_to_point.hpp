// Messages between two processes: from stage to stage, and arrays that are handed over in pieces.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include <mpi.h>
#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/runtime/collectives.hpp>

namespace meshtf {
inline namespace v0 {

namespace detail {

/// An array on its way to another process.
struct sending {
  MPI_Comm over = MPI_COMM_NULL;
  extent n      = 0;
  int to        = 0;
  std::vector<MPI_Request> messages{};
};

}  // namespace detail

/// Begins to send the n elements at `sent` to process `to` and returns. They must stay as they are until
/// `finish_sending`. It relies on no buffer of MPI: the send may end only when `to` receives. What is sent
/// `back` does not meet what is not.
template<Element T>
void begin_sending(boost::mpi::communicator const& comm, T const* sent, extent n, int to, bool back,
                   detail::sending& s);
/// Waits until all has been sent.
void finish_sending(detail::sending& s);
/// The other side of `begin_sending`.
template<Element T>
void receive_sent(boost::mpi::communicator const& comm, T* received, extent n, int from, bool back);

/// One piece of `hand_over`, of all its n elements.
template<Element T>
void send_piece(boost::mpi::communicator const& comm, T const* piece, int count, int to, extent n);
/// The other side of `send_piece`.
template<Element T>
void receive_piece(boost::mpi::communicator const& comm, T* piece, int count, int from, extent n);

/// Process `from` hands its n elements at `sent` to process `to` in pieces: each piece is at `buffer` on `to`
/// when `take(offset, length)` is called there. Only these two processes call it. A piece has `piece`
/// elements and is not sent before it is asked for, so neither process holds more than one piece.
template<Element T, class Take>
void hand_over(boost::mpi::communicator const& comm, int from, int to, T const* sent, T* buffer, extent n,
               extent piece, Take const& take) {
  for (extent position = 0; position < n; position += piece) {
    auto const count = static_cast<int>(std::min(n - position, piece));
    if (comm.rank() == from) send_piece(comm, sent + position, count, to, n);
    if (comm.rank() != to) continue;
    receive_piece(comm, buffer, count, from, n);
    take(position, extent{count});
  }
}

#if MESHTF_DEFINES_RUNTIME

template<Element T>
void send_piece(boost::mpi::communicator const& comm, T const* piece, int count, int to, extent n) {
  detail::call(comm, collective::permute, n, MPI_Ssend, piece, count, detail::mpi_type(element_of<T>), to, 0);
}
template<Element T>
void receive_piece(boost::mpi::communicator const& comm, T* piece, int count, int from, extent n) {
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  auto const receive      = [&](MPI_Comm on) {
    return MPI_Recv(piece, count, type, from, 0, on, MPI_STATUS_IGNORE);
  };
  detail::call(comm, collective::permute, n, receive);
}

template<Element T>
void begin_sending(boost::mpi::communicator const& comm, T const* sent, extent n, int to, bool back,
                   detail::sending& s) {
  s.over = comm;
  s.n    = n;
  s.to   = to;
  detail::for_each_message(n, [&](extent position, int count) {
    MPI_Request& request = s.messages.emplace_back(MPI_REQUEST_NULL);
    auto const send      = [&](MPI_Comm on) {
      return MPI_Isend(sent + position, count, detail::mpi_type(element_of<T>), to, back ? 1 : 0, on,
                            &request);
    };
    detail::call(comm, collective::hand_on, n, send);
  });
}
MESHTF_DEFINE void finish_sending(detail::sending& s) {
  for (MPI_Request& request : s.messages) {
    boost::mpi::communicator const comm{s.over, boost::mpi::comm_attach};
    detail::call(comm, collective::hand_on, s.n,
                 [&](MPI_Comm) { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
  }
  s.messages.clear();
}
template<Element T>
void receive_sent(boost::mpi::communicator const& comm, T* received, extent n, int from, bool back) {
  detail::for_each_message(n, [&](extent position, int count) {
    auto const receive = [&](MPI_Comm on) {
      return MPI_Recv(received + position, count, detail::mpi_type(element_of<T>), from, back ? 1 : 0, on,
                      MPI_STATUS_IGNORE);
    };
    detail::call(comm, collective::hand_on, n, receive);
  });
}

namespace detail {

/// What the compiled library has of an element type.
template<Element T>
struct point_to_point_of {
  static constexpr std::tuple all{&begin_sending<T>, &receive_sent<T>, &send_piece<T>, &receive_piece<T>};
};

}  // namespace detail

#define MESHTF_MESSAGES(T) template struct detail::point_to_point_of<T>;
MESHTF_RUNTIME_EACH(MESHTF_MESSAGES)
#undef MESHTF_MESSAGES

#endif

}  // namespace v0
}  // namespace meshtf
