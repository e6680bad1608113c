// Collectives on plain arrays: counts of any size, and failures as exceptions.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

#include <mpi.h>
#include <boost/mpi/communicator.hpp>

#include <meshtf/core/compiled.hpp>
#include <meshtf/core/element.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/kernel/narrow.hpp>
#include <meshtf/plan/collective.hpp>
#include <meshtf/runtime/one_program.hpp>
#include <meshtf/runtime/waiting.hpp>

namespace meshtf {
inline namespace v0 {

/// Failures on `comm`, and on communicators derived from it, become exceptions: by default MPI ends the job.
inline void throw_on_failure(boost::mpi::communicator const& comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

namespace detail {

/// MPI counts in `int`, so a longer array is sent in several messages. Tests lower this limit.
inline extent largest_count = std::numeric_limits<int>::max();

}  // namespace detail

/// In place: joins `data` over the processes of `comm`, with the same bits on each.
template<Element T>
void all_reduce(boost::mpi::communicator const& comm, reduction r, T* data, extent n);

/// Gathers `part` of each process, in the order of ranks.
template<Element T>
void all_gather(boost::mpi::communicator const& comm, T const* part, extent n, T* whole);

/// Array number q of `from` goes to process q, which stores it in `to` under the sender's rank.
template<Element T>
void all_to_all(boost::mpi::communicator const& comm, T const* from, extent n_each, T* to);

/// Sends `sent` to process `to`, and receives into `received` what process `from` sends here. Both may be
/// this process.
template<Element T>
void permute(boost::mpi::communicator const& comm, T const* sent, int to, T* received, int from, extent n);

/// Sends `sent` to process `to`, and receives into `received` what process `from` sends here. Where either is
/// MPI_PROC_NULL, nothing is sent or nothing arrives, and `received` stays as it was.
template<Element T>
void exchange_with_neighbours(boost::mpi::communicator const& comm, T const* sent, int to, T* received,
                              int from, extent n);

/// In place: `data` of each process becomes what the processes before it have, joined. `before` and `after`
/// are the processes next to this one, or MPI_PROC_NULL; the first gets `identity`. `buffer` has n elements.
/// The values pass through all processes in turn, so their order is that of the processes, and the bits are
/// the same each time.
template<Element T>
void exclusive_scan(boost::mpi::communicator const& comm, reduction r, T identity, T* data, T* buffer,
                    extent n, int before, int after);

/// `sum` gets array number `rank` of `parts`, joined over the processes. `sum` may be that array; nothing
/// else in `parts` changes. `buffer` holds `exchange_scratch(n, element_of<T>)` elements.
///
/// It exchanges pairwise and joins in a fixed order, in pieces that are still in the cache when they are
/// added. MPI_Reduce_scatter_block of Open MPI 4.1 takes several times as long
/// (docs/decisions/communication.md).
template<Element T>
void reduce_scatter(boost::mpi::communicator const& comm, reduction r, T const* parts, extent n, T* buffer,
                    T* sum);

/// In place: each process knows its own part of n elements, number `rank` of `whole`; afterwards all
/// processes know all parts.
template<Element T>
void all_gather_in_place(boost::mpi::communicator const& comm, T* whole, extent n);

/// Copies `data` of process `root` to all processes.
template<Element T>
void broadcast(boost::mpi::communicator const& comm, T* data, extent n, int root);

#if MESHTF_DEFINES_RUNTIME

namespace detail {

MESHTF_DEFINE MPI_Datatype mpi_type(element e) {
  switch (e) {
    case element::float32: return MPI_FLOAT;
    case element::float64: return MPI_DOUBLE;
    case element::int32: return MPI_INT;
    // it travels as it lies in memory; only `joining_op` reads it
    case element::bfloat16: return MPI_UINT16_T;
    case element::int64: return MPI_INT64_T;
    case element::boolean: return MPI_CXX_BOOL;
  }
  throw software_error("this element type has no MPI type: add it to mpi_type");
}

/// f(offset, count) for each of the messages that n elements are sent in.
template<class F>
void for_each_message(extent n, F f) {
  for (extent position = 0; position < n; position += largest_count)
    f(position, static_cast<int>(std::min(n - position, largest_count)));
}

[[noreturn]] MESHTF_DEFINE void throw_failed(boost::mpi::communicator const& comm, collective c, extent n,
                                             int failure) {
  char axes[MPI_MAX_OBJECT_NAME]{};
  char reason[MPI_MAX_ERROR_STRING]{};
  int length = 0;
  MPI_Comm_get_name(comm, axes, &length);
  MPI_Error_string(failure, reason, &length);
  throw unavailable{std::string{to_string(c)} + " of " + std::to_string(n) + " elements over \"" + axes +
                    "\" failed on process " + std::to_string(comm.rank()) + " of " +
                    std::to_string(comm.size()) + ": " + reason};
}

/// Calls MPI itself, at the same cost as Boost.MPI: Boost.MPI 1.74 asserts before it throws, so a debug build
/// could not report a failure. The message names the call, its size and the axes it ran over.
template<class Function, class... Arguments>
void call(boost::mpi::communicator const& comm, collective c, extent n, Function mpi,
          Arguments... arguments) {
  waiting const here{to_string(c).data()};
  int const failure = mpi(arguments..., MPI_Comm(comm));
  if (failure != MPI_SUCCESS) throw_failed(comm, c, n, failure);
}

/// z[k] = x[k] joined with y[k]. A maximum or minimum is NaN if either operand is.
template<class T>
void join(reduction r, T const* x, T const* y, extent n, T* z) {
  switch (r) {
    case reduction::sum:
      for (extent k = 0; k < n; ++k) z[k] = x[k] + y[k];
      break;
    case reduction::max:
      for (extent k = 0; k < n; ++k) z[k] = x[k] < y[k] || y[k] != y[k] ? y[k] : x[k];
      break;
    case reduction::min:
      for (extent k = 0; k < n; ++k) z[k] = y[k] < x[k] || y[k] != y[k] ? y[k] : x[k];
      break;
    case reduction::product:
      if constexpr (NumberElement<T>)
        for (extent k = 0; k < n; ++k) z[k] = x[k] * y[k];
      break;
  }
}

/// z[k] = z[k] joined with x[k], in the wider type of z.
template<NarrowElement T>
void join_widened(reduction r, computed<T>* z, T const* x, extent n) {
  constexpr extent some = 1024;
  std::array<computed<T>, some> wide;
  for (extent k = 0; k < n; k += some) {
    extent const length = std::min(some, n - k);
    kernel::widen(length, x + k, wide.data());
    join(r, z + k, static_cast<computed<T> const*>(wide.data()), length, z + k);
  }
}

/// MPI_MAX of floating-point numbers may drop a NaN, depending on the order of reduction; so may MPI_MIN.
template<class T, reduction R>
MPI_Op joining_op() {
  static MPI_Op const made = [] {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(
        [](void* x, void* y, int* n, MPI_Datatype*) {
          join(R, static_cast<T const*>(x), static_cast<T const*>(y), *n, static_cast<T*>(y));
        },
        1, &op);
    return op;
  }();
  return made;
}

template<class T>
MPI_Op operation_of(reduction r) {
  if constexpr (NarrowElement<T>)
    // it rounds at each hop, so machines call it for maxima alone
    if (r == reduction::sum) return joining_op<T, reduction::sum>();
  if (r == reduction::sum) return MPI_SUM;
  if constexpr (NumberElement<T> && !NarrowElement<T>)
    if (r == reduction::product) return MPI_PROD;
  if constexpr (FloatingElement<T>)
    return r == reduction::max ? joining_op<T, reduction::max>() : joining_op<T, reduction::min>();
  else if constexpr (!NumberElement<T>) return r == reduction::max ? MPI_LOR : MPI_LAND;
  else return r == reduction::max ? MPI_MAX : MPI_MIN;
}

template<class T>
void exchange(boost::mpi::communicator const& comm, collective c, int to, T const* sent, int from,
              T* received, extent n) {
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  auto const send_receive = [&](T const* x, T* y, int count, MPI_Comm on) {
    return MPI_Sendrecv(x, count, type, to, 0, y, count, type, from, 0, on, MPI_STATUS_IGNORE);
  };
  for_each_message(n, [&](extent position, int count) {
    call(comm, c, n, send_receive, sent + position, received + position, count);
  });
}

/// Process q gets the array at from(q), and to(q) gets the array that process q sends here; for arrays too
/// long for one message.
template<class T, class From, class To>
void exchange_all(boost::mpi::communicator const& comm, collective c, extent n, From from, To to) {
  int const rank = comm.rank();
  int const size = comm.size();
  if (from(rank) != to(rank)) std::copy_n(from(rank), n, to(rank));
  for (int i = 1; i < size; ++i) {
    int const next = (rank + i) % size;
    int const last = (rank - i + size) % size;
    exchange<T>(comm, c, next, from(next), last, to(last), n);
  }
}

}  // namespace detail

template<Element T>
void all_reduce(boost::mpi::communicator const& comm, reduction r, T* data, extent n) {
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  detail::for_each_message(n, [&](extent position, int count) {
    detail::call(comm, collective::all_reduce, n, MPI_Allreduce, MPI_IN_PLACE, data + position, count, type,
                 detail::operation_of<T>(r));
  });
}

template<Element T>
void all_gather(boost::mpi::communicator const& comm, T const* part, extent n, T* whole) {
  constexpr auto c        = collective::all_gather;
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  if (n == 0) return;
  if (n * comm.size() > detail::largest_count)
    return detail::exchange_all<T>(
        comm, c, n, [&](int) { return part; }, [&](int q) { return whole + q * n; });
  auto const count = static_cast<int>(n);
  detail::call(comm, c, n, MPI_Allgather, part, count, type, whole, count, type);
}

template<Element T>
void all_to_all(boost::mpi::communicator const& comm, T const* from, extent n_each, T* to) {
  constexpr auto c        = collective::all_to_all;
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  if (n_each == 0) return;
  if (n_each * comm.size() > detail::largest_count)
    return detail::exchange_all<T>(
        comm, c, n_each, [&](int q) { return from + q * n_each; }, [&](int q) { return to + q * n_each; });
  auto const count = static_cast<int>(n_each);
  detail::call(comm, c, n_each * comm.size(), MPI_Alltoall, from, count, type, to, count, type);
}

template<Element T>
void permute(boost::mpi::communicator const& comm, T const* sent, int to, T* received, int from, extent n) {
  detail::exchange<T>(comm, collective::permute, to, sent, from, received, n);
}

template<Element T>
void exchange_with_neighbours(boost::mpi::communicator const& comm, T const* sent, int to, T* received,
                              int from, extent n) {
  detail::exchange<T>(comm, collective::neighbours, to, sent, from, received, n);
}

template<Element T>
void exclusive_scan(boost::mpi::communicator const& comm, reduction r, T identity, T* data, T* buffer,
                    extent n, int before, int after) {
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  std::fill_n(buffer, n, identity);
  detail::for_each_message(n, [&](extent position, int count) {
    auto const receive = [&](MPI_Comm on) {
      return MPI_Recv(buffer + position, count, type, before, 0, on, MPI_STATUS_IGNORE);
    };
    detail::call(comm, collective::scan, n, receive);
    detail::join(r, static_cast<T const*>(buffer + position), static_cast<T const*>(data + position), count,
                 data + position);
    detail::call(comm, collective::scan, n, MPI_Send, data + position, count, type, after, 0);
  });
  std::copy_n(buffer, n, data);
}

template<Element T>
void reduce_scatter(boost::mpi::communicator const& comm, reduction r, T const* parts, extent n, T* buffer,
                    T* sum) {
  int const rank     = comm.rank();
  int const size     = comm.size();
  T const* so_far    = parts + rank * n;
  extent const piece = exchange_piece(n, extent{sizeof(T)});
  if constexpr (NarrowElement<T>) {  // each piece is joined in a wider type, then rounded once
    auto* const joined = reinterpret_cast<computed<T>*>(buffer);
    T* const arriving  = buffer + exchange_scratch(n, element_of<T>) - piece;
    for (extent position = 0; position < n; position += piece) {
      extent const length = std::min(piece, n - position);
      kernel::widen(length, so_far + position, joined);
      for (int i = 1; i < size; ++i) {
        int const next = (rank + i) % size;
        int const last = (rank - i + size) % size;
        detail::exchange<T>(comm, collective::reduce_scatter, next, parts + next * n + position, last,
                            arriving, length);
        detail::join_widened(r, joined, arriving, length);
      }
      kernel::narrow(length, joined, sum + position);
    }
    return;
  }
  if (size == 1 && sum != so_far) std::copy_n(so_far, n, sum);
  for (int i = 1; i < size; ++i) {
    int const next = (rank + i) % size;
    int const last = (rank - i + size) % size;
    for (extent position = 0; position < n; position += piece) {
      extent const length = std::min(piece, n - position);
      // at first the result is empty and can receive
      T* const arriving = so_far == sum ? buffer : sum + position;
      detail::exchange<T>(comm, collective::reduce_scatter, next, parts + next * n + position, last, arriving,
                          length);
      detail::join(r, so_far + position, arriving, length, sum + position);
    }
    so_far = sum;
  }
}

template<Element T>
void all_gather_in_place(boost::mpi::communicator const& comm, T* whole, extent n) {
  constexpr auto c        = collective::all_gather;
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  if (n == 0) return;
  if (n * comm.size() > detail::largest_count)
    return detail::exchange_all<T>(
        comm, c, n, [&](int) { return whole + comm.rank() * n; }, [&](int q) { return whole + q * n; });
  auto const count = static_cast<int>(n);
  detail::call(comm, c, n, MPI_Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, count, type);
}

template<Element T>
void broadcast(boost::mpi::communicator const& comm, T* data, extent n, int root) {
  MPI_Datatype const type = detail::mpi_type(element_of<T>);
  detail::for_each_message(n, [&](extent position, int count) {
    detail::call(comm, collective::broadcast, n, MPI_Bcast, data + position, count, type, root);
  });
}

namespace detail {

/// What the compiled library has of an element type.
template<Element T>
struct collectives_of {
  static constexpr std::tuple all{&all_reduce<T>,
                                  &all_gather<T>,
                                  &all_to_all<T>,
                                  &permute<T>,
                                  &exchange_with_neighbours<T>,
                                  &exclusive_scan<T>,
                                  &reduce_scatter<T>,
                                  &all_gather_in_place<T>,
                                  &broadcast<T>};
};

}  // namespace detail

#define MESHTF_COLLECTIVES(T) template struct detail::collectives_of<T>;
MESHTF_RUNTIME_EACH(MESHTF_COLLECTIVES)
#undef MESHTF_COLLECTIVES

#endif

}  // namespace v0
}  // namespace meshtf
