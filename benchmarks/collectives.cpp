// Collectives and a reshard: meshtf's against the best of the raw ways, over sizes. A size is of the longer
// of the two arrays of a process.
#include "../examples/by_hand/exchange.hpp"
#include "../examples/by_hand/kernels.hpp"
#include "setting.hpp"
#include "timing.hpp"

#include "mlp.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using by_hand::buffer, by_hand::floats, by_hand::piece;
using machine = meshtf::process_mesh<with_meshtf::line>;

/// Two arrays and what the raw ways need besides; all zero, so that sums in place don't grow from step to
/// step.
struct arrays {
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
  std::int64_t n;  // floats of the longer array
  int part;        // floats of one part of it
  buffer from    = floats(n);
  buffer to      = floats(n);
  buffer scratch = floats(std::max(n, piece));

  arrays(MPI_Comm c, std::int64_t bytes) : comm{c}, n{bytes / 4} {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    part = static_cast<int>(n / size);
  }

  float* part_of(buffer const& b, int r) const { return b.get() + std::int64_t{part} * r; }

  /// Sends a part to every other process and receives one from each, two at a time.
  template<class Sent, class Received>
  void pairwise(Sent sent, Received received) const {
    for (int step = 1; step < size; ++step) {
      int const to_rank   = (rank + step) % size;
      int const from_rank = (rank + size - step) % size;
      MPI_Sendrecv(sent(to_rank), part, MPI_FLOAT, to_rank, 0, received(from_rank), part, MPI_FLOAT,
                   from_rank, 0, comm, MPI_STATUS_IGNORE);
    }
  }
};

std::vector<bench::variant> all_reduce(arrays const& a, machine& m) {
  return {
      {"MPI_Allreduce",
       [&] { MPI_Allreduce(MPI_IN_PLACE, a.from.get(), static_cast<int>(a.n), MPI_FLOAT, MPI_SUM, a.comm); },
       true},
      {"pairwise reduce-scatter, MPI_Allgather",
       [&] {
         by_hand::reduce_scatter(a.comm, a.from.get(), a.n, a.scratch.get());
         by_hand::all_gather(a.comm, a.from.get(), a.n);
       },
       true},
      {"meshtf", [&] { m.all_reduce(meshtf::reduction::sum, a.from.get(), a.n, 1); }}};
}

std::vector<bench::variant> all_gather(arrays const& a, machine& m) {
  return {
      {"MPI_Allgather",
       [&] { MPI_Allgather(a.from.get(), a.part, MPI_FLOAT, a.to.get(), a.part, MPI_FLOAT, a.comm); }, true},
      {"pairwise",
       [&] {
         std::copy_n(a.from.get(), a.part, a.part_of(a.to, a.rank));
         a.pairwise([&](int) { return a.from.get(); }, [&](int r) { return a.part_of(a.to, r); });
       },
       true},
      {"meshtf", [&] { meshtf::all_gather(m.world(), a.from.get(), a.part, a.to.get()); }}};
}

/// A reduce-scatter by exchanges of pieces that may be in flight two at a time: the next one arrives while
/// the last one is added.
void overlapped(arrays const& a, int most) {
  for (int step = 1; step < a.size; ++step) {
    int const to              = (a.rank + step) % a.size;
    int const from            = (a.rank + a.size - step) % a.size;
    float const* const theirs = a.part_of(a.from, to);
    float* const mine         = a.part_of(a.from, a.rank);
    float* const sum          = a.to.get();
    MPI_Request arriving[2]{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request leaving[2]{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int const pieces = (a.part + most - 1) / most;
    auto const post  = [&](int p) {
      int const at = p * most;
      int const n  = std::min(most, a.part - at);
      MPI_Irecv(a.scratch.get() + p % 2 * most, n, MPI_FLOAT, from, 0, a.comm, &arriving[p % 2]);
      MPI_Wait(&leaving[p % 2], MPI_STATUS_IGNORE);
      MPI_Isend(theirs + at, n, MPI_FLOAT, to, 0, a.comm, &leaving[p % 2]);
    };
    post(0);
    for (int p = 0; p < pieces; ++p) {
      if (p + 1 < pieces) post(p + 1);
      MPI_Wait(&arriving[p % 2], MPI_STATUS_IGNORE);
      float const* const arrived = a.scratch.get() + p % 2 * most;
      int const at               = p * most;
      int const n                = std::min(most, a.part - at);
      for (int i = 0; i < n; ++i) sum[at + i] = mine[at + i] + arrived[i];
    }
    MPI_Waitall(2, leaving, MPI_STATUSES_IGNORE);
  }
}

/// In another array than the local terms, as an optimizer with sharded state asks for it. The hand-written
/// one in place does less: it reads and writes one array.
std::vector<bench::variant> reduce_scatter(arrays const& a, machine& m) {
  return {
      {"MPI_Reduce_scatter_block",
       [&] { MPI_Reduce_scatter_block(a.from.get(), a.to.get(), a.part, MPI_FLOAT, MPI_SUM, a.comm); }, true},
      {"pieces, added to a copy",
       [&] {
         by_hand::reduce_scatter(a.comm, a.from.get(), a.n, a.scratch.get());
         std::copy_n(a.part_of(a.from, a.rank), a.part, a.to.get());
       },
       true},
      {"pieces of 256 KiB, two in flight", [&] { overlapped(a, 1 << 16); }, true},
      {"pieces of 64 KiB, two in flight", [&] { overlapped(a, 1 << 14); }, true},
      {"meshtf", [&] {
         m.reduce_scatter(meshtf::reduction::sum, static_cast<float const*>(a.from.get()), a.part, a.to.get(),
                          1);
       }}};
}

std::vector<bench::variant> reduce_scatter_in_place(arrays const& a, machine& m) {
  return {{"pieces of 256 KiB", [&] { by_hand::reduce_scatter(a.comm, a.from.get(), a.n, a.scratch.get()); },
           true},
          {"meshtf", [&] {
             m.reduce_scatter(meshtf::reduction::sum, static_cast<float const*>(a.from.get()), a.part,
                              a.part_of(a.from, a.rank), 1);
           }}};
}

std::vector<bench::variant> all_to_all(arrays const& a, machine& m) {
  return {
      {"MPI_Alltoall",
       [&] { MPI_Alltoall(a.from.get(), a.part, MPI_FLOAT, a.to.get(), a.part, MPI_FLOAT, a.comm); }, true},
      {"pairwise",
       [&] {
         std::copy_n(a.part_of(a.from, a.rank), a.part, a.part_of(a.to, a.rank));
         a.pairwise([&](int r) { return a.part_of(a.from, r); }, [&](int r) { return a.part_of(a.to, r); });
       },
       true},
      {"meshtf", [&] { meshtf::all_to_all(m.world(), a.from.get(), a.part, a.to.get()); }}};
}

/// A matrix of 1024 columns split by rows becomes one split by columns: blocks are packed, and arrive where
/// they belong.
constexpr int columns = 1024;

void pack_columns(arrays const& a, float* packed) {
  std::int64_t const rows  = a.n / columns;
  std::int64_t const width = columns / a.size;
  for (int r = 0; r < a.size; ++r)
    for (std::int64_t i = 0; i < rows; ++i)
      std::memcpy(packed + (r * rows + i) * width, a.from.get() + i * columns + r * width,
                  static_cast<std::size_t>(width) * sizeof(float));
}

template<int Rows>
struct tall : meshtf::dim<Rows> {};
struct wide : meshtf::dim<columns> {};

template<int Rows>
struct by_rows : meshtf::layout<with_meshtf::line, meshtf::split<tall<Rows>, with_meshtf::all>> {};
struct by_columns : meshtf::layout<with_meshtf::line, meshtf::split<wide, with_meshtf::all>> {};

template<int Rows>
std::function<void()> resharding(machine& m) {
  return [x = meshtf::tensor<float, by_rows<Rows>, tall<Rows>, wide>{m}] { meshtf::reshard<by_columns>(x); };
}

/// `a` holds a process's part, so the matrix has `size` times as many rows.
std::function<void()> resharding(arrays const& a, machine& m) {
  switch (a.n / columns) {
    case 2: return resharding<2 * 2>(m);
    case 16: return resharding<2 * 16>(m);
    case 256: return resharding<2 * 256>(m);
    case 4096: return resharding<2 * 4096>(m);
    default: return resharding<2 * 16384>(m);
  }
}

std::vector<bench::variant> rows_to_columns(arrays const& a, machine& m) {
  return {{"pack, MPI_Alltoall",
           [&] {
             pack_columns(a, a.scratch.get());
             MPI_Alltoall(a.scratch.get(), a.part, MPI_FLOAT, a.to.get(), a.part, MPI_FLOAT, a.comm);
           },
           true},
          {"pack, pairwise",
           [&] {
             pack_columns(a, a.scratch.get());
             std::copy_n(a.part_of(a.scratch, a.rank), a.part, a.part_of(a.to, a.rank));
             a.pairwise([&](int r) { return a.part_of(a.scratch, r); },
                        [&](int r) { return a.part_of(a.to, r); });
           },
           true},
          {"meshtf", resharding(a, m)}};
}

std::string readable(std::int64_t bytes) {
  return bytes < 1 << 20 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void bench::measure_collectives(report& report, options const& options, machine& m) {
  struct kind {
    std::string name;
    std::vector<variant> (*variants)(arrays const&, machine&);
    std::int64_t from;  // the smallest size that has a meaning
  };
  std::vector<kind> const kinds{
      {"all_reduce", all_reduce, 0},         {"all_gather", all_gather, 0},
      {"reduce_scatter", reduce_scatter, 0}, {"reduce_scatter in place", reduce_scatter_in_place, 0},
      {"all_to_all", all_to_all, 0},         {"reshard rows to columns", rows_to_columns, 1 << 13}};
  for (auto const& k : kinds)
    for (std::int64_t const bytes : {1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24, 1 << 26}) {
      std::string const what = k.name + ", " + readable(bytes);
      if (bytes < k.from || !options.wants(what)) continue;
      arrays const a{MPI_Comm(m.world()), bytes};
      int const repeat = static_cast<int>(std::clamp<std::int64_t>((1 << 22) / bytes, 1, 500));
      report.add(what, interleave(MPI_Comm(m.world()), k.variants(a, m), options.rounds, repeat));
    }
}
