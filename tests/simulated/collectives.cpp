// The simulated seconds of single collectives and those of the machine model: benchmarks/algorithms runs
// it with each algorithm. It calls MPI itself, as the library does.
//
//     collectives KIND ALGORITHM MOST [PER_NODE]
//
// KIND: all_reduce, all_gather, all_to_all or reduce_scatter. ALGORITHM: one of `names`, or cheapest or
// open_mpi. MOST: bytes that an array of all processes together may have. Prints a line for each size: bytes,
// elements a process, simulated and modelled seconds, the algorithm.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <meshtf/price/collective_algorithm.hpp>

namespace {

using meshtf::collective;
using meshtf::collective_algorithm;
using meshtf::extent;

// examples/simulation/switch.xml: 10 Gbit/s, 2 us from host to host; arithmetic takes no simulated time
constexpr meshtf::link_model of_switch{.seconds_per_message = 2e-6, .seconds_per_byte = 8 / 10e9};

struct named_algorithm {
  std::string_view name;
  collective_algorithm algorithm;
};
constexpr std::array names{
    named_algorithm{"ring", collective_algorithm::ring},
    named_algorithm{"recursive_doubling", collective_algorithm::recursive_doubling},
    named_algorithm{"rabenseifner", collective_algorithm::rabenseifner},
    named_algorithm{"reduce_and_broadcast", collective_algorithm::reduce_and_broadcast},
    named_algorithm{"neighbour_exchange", collective_algorithm::neighbour_exchange},
    named_algorithm{"pairwise", collective_algorithm::pairwise},
    named_algorithm{"bruck", collective_algorithm::bruck},
    named_algorithm{"linear", collective_algorithm::linear},
    named_algorithm{"binomial_tree", collective_algorithm::binomial_tree}};

/// The algorithm for a call of `count` floats, `bytes` of them handed over.
collective_algorithm chosen(std::string_view name, collective c, extent bytes, extent count, extent n) {
  for (named_algorithm const& a : names)
    if (a.name == name) return a.algorithm;
  meshtf::machine_model machine{.seconds_per_byte_added = 0};
  if (name == "open_mpi") machine.algorithms = meshtf::algorithm_choice::open_mpi;
  return meshtf::algorithm_of(c, bytes, count, n, of_switch, machine);
}

/// Each process sends part q to process q, as meshtf::reduce_scatter does.
void exchange_in_pairs(float const* parts, int count, float* arriving, int rank, int n) {
  for (int i = 1; i < n; ++i) {
    int const next = (rank + i) % n;
    int const last = (rank - i + n) % n;
    MPI_Sendrecv(parts + std::ptrdiff_t{next} * count, count, MPI_FLOAT, next, 0, arriving, count, MPI_FLOAT,
                 last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/// Of one call, which all processes begin at the same moment.
double simulated_seconds(collective c, int count, float* from, float* to, int rank, int n) {
  double const now = MPI_Wtime();
  double latest    = 0;
  MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double const begin = latest + 0.01;
  double const waits = begin - MPI_Wtime();
  timespec const rest{0, static_cast<long>(waits * 1e9)};
  nanosleep(&rest, nullptr);
  double const from_here = MPI_Wtime();
  switch (c) {
    case collective::all_reduce: MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    case collective::all_gather:
      MPI_Allgather(from, count, MPI_FLOAT, to, count, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case collective::all_to_all:
      MPI_Alltoall(from, count, MPI_FLOAT, to, count, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case collective::broadcast: MPI_Bcast(from, count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;
    default: exchange_in_pairs(from, count, to, rank, n);
  }
  double const mine = MPI_Wtime() - from_here;
  double longest    = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

collective kind_of(std::string_view name) {
  for (collective c : {collective::all_reduce, collective::all_gather, collective::all_to_all,
                       collective::reduce_scatter, collective::broadcast})
    if (to_string(c) == name) return c;
  std::printf("expected all_reduce, all_gather, all_to_all, reduce_scatter or broadcast, got '%s'\n",
              name.data());
  std::exit(64);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int n    = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (argc < 4) return std::printf("expected KIND ALGORITHM MOST, got %d arguments\n", argc - 1), 64;
  collective const c = kind_of(argv[1]);
  for (extent bytes = 64; bytes <= 64 << 20; bytes *= 4) {
    // what a process hands over, of which a process of an all-to-all sends a part to each
    bool const in_parts = c == collective::all_to_all || c == collective::reduce_scatter;
    extent count        = in_parts ? bytes / 4 / n : bytes / 4;
    // SMPI's ring makes a second call for the elements that are left; Open MPI's makes parts of two sizes
    if (argv[2] == std::string_view{"ring"} && c == collective::all_reduce && count >= n) count -= count % n;
    extent const held = c == collective::all_gather ? bytes * n : bytes;
    if (count == 0) continue;
    if (held * n > std::atoll(argv[3])) break;
    std::vector<float> from(static_cast<std::size_t>(in_parts ? count * n : count));
    std::vector<float> to(static_cast<std::size_t>(held / 4));
    double const seconds = simulated_seconds(c, static_cast<int>(count), from.data(), to.data(), rank, n);
    extent const handed  = payload_of(c, 4 * (in_parts ? count * n : count), n);
    auto const a         = chosen(argv[2], c, handed, in_parts ? count * n : count, n);
    if (rank == 0)
      std::printf("call %s %s %d %ld %.9e %.9e %.*s\n", argv[1], argv[2], n, static_cast<long>(bytes),
                  seconds, meshtf::seconds_of(a, c, handed, n, of_switch),
                  static_cast<int>(to_string(a).size()), to_string(a).data());
  }
  MPI_Finalize();
}
