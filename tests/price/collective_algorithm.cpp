// The algorithms of collectives: what each sends, and which one a machine chooses.
#include <meshtf/price/collective_algorithm.hpp>

#include <meshtf/price/cost.hpp>

namespace {

using namespace meshtf;
using enum collective_algorithm;

constexpr bool sends(algorithm_steps const& s, extent messages, extent bytes, extent added) {
  return s.messages == messages && s.bytes == bytes && s.added == added;
}

// ---- what each sends: counted by hand on the figures of the sources

static_assert(sends(steps_of(ring, collective::all_reduce, 4096, 8), 14, 7168, 3584));
static_assert(sends(steps_of(recursive_doubling, collective::all_reduce, 4096, 8), 3, 3 * 4096, 3 * 4096));
static_assert(sends(steps_of(rabenseifner, collective::all_reduce, 4096, 8), 6, 7168, 3584));
// four of twelve are too many for a power of two: they hand over, and get the result
static_assert(sends(steps_of(recursive_doubling, collective::all_reduce, 4096, 12), 5, 5 * 4096, 4 * 4096));
static_assert(sends(steps_of(rabenseifner, collective::all_reduce, 4096, 12), 8, 7168 + 8192, 3584 + 4096));
// seven levels up, seven levels down a binary tree; pieces of 1 KiB up and a chain down; four levels down of
// four
static_assert(sends(steps_of(reduce_and_broadcast, collective::all_reduce, 10, 128), 14, 210, 70));
static_assert(sends(steps_of(reduce_and_broadcast, collective::all_reduce, 16384, 128), 7 * 16 + 127,
                    (7 + 127) * 16384, 7 * 16384));
static_assert(sends(steps_of(reduce_and_broadcast, collective::all_reduce, 65536, 128), 7 * 64 + 4,
                    (7 + 12) * 65536, 7 * 65536));
static_assert(sends(steps_of(reduce_and_broadcast, collective::all_reduce, 10, 256), 12, (8 + 30) * 10, 80));
static_assert(sends(steps_of(ring, collective::all_reduce, 10, 1), 0, 0, 0));

static_assert(sends(steps_of(ring, collective::all_gather, 100, 6), 5, 500, 0));
static_assert(sends(steps_of(recursive_doubling, collective::all_gather, 100, 6), 3, 500, 0));
static_assert(sends(steps_of(bruck, collective::all_gather, 100, 8), 3, 700, 0));
static_assert(sends(steps_of(neighbour_exchange, collective::all_gather, 100, 6), 3, 500, 0));
static_assert(sends(steps_of(neighbour_exchange, collective::all_gather, 100, 5), 4, 400, 0));  // a ring

static_assert(sends(steps_of(pairwise, collective::all_to_all, 800, 8), 7, 700, 0));
static_assert(sends(steps_of(linear, collective::all_to_all, 800, 8), 1, 700, 0));
static_assert(sends(steps_of(bruck, collective::all_to_all, 800, 8), 3, 3 * 400, 0));
// of blocks 1 to 4: 1 and 3, then 2 and 3, then 4
static_assert(sends(steps_of(bruck, collective::all_to_all, 500, 5), 3, 500, 0));

static_assert(sends(steps_of(pairwise, collective::reduce_scatter, 700, 8), 7, 700, 700));
static_assert(sends(steps_of(binomial_tree, collective::broadcast, 10, 8), 3, 30, 0));
static_assert(sends(steps_of(binomial_tree, collective::broadcast, 10, 5), 2, 20, 0));  // 0, 2, 3
static_assert(sends(steps_of(direct, collective::hand_on, 10, 4), 1, 10, 0));

constexpr link_model units{.seconds_per_message = 1, .seconds_per_byte = 2};
static_assert(seconds_of(recursive_doubling, collective::all_reduce, 10, 8, units, 4) == 3 + 2 * 30 + 4 * 30);

// ---- which one is chosen

constexpr machine_model machine{.seconds_per_byte_added = 0,
                                .within_node = {.seconds_per_message = 2e-6, .seconds_per_byte = 1 / 1.25e9}};

constexpr collective_algorithm chosen(collective c, extent bytes, extent n, algorithm_choice choice) {
  machine_model m = machine;
  m.algorithms    = choice;
  return algorithm_of(c, bytes, bytes / 4, n, machine.within_node, m);
}
constexpr auto cheapest = algorithm_choice::cheapest;
constexpr auto open_mpi = algorithm_choice::open_mpi;
constexpr auto rings    = algorithm_choice::ring;

static_assert(chosen(collective::all_reduce, 64, 64, cheapest) == recursive_doubling);
static_assert(chosen(collective::all_reduce, 65536, 64, cheapest) == rabenseifner);
static_assert(chosen(collective::all_reduce, 1 << 20, 12, cheapest) == ring);
static_assert(chosen(collective::all_gather, 65536, 12, cheapest) == recursive_doubling);
static_assert(chosen(collective::all_to_all, 64 * 64, 64, cheapest) == bruck);
static_assert(chosen(collective::all_to_all, 1 << 24, 64, cheapest) == pairwise);
static_assert(chosen(collective::reduce_scatter, 1 << 24, 64, open_mpi) == pairwise);
static_assert(chosen(collective::all_reduce, 64, 64, rings) == ring);
static_assert(chosen(collective::all_to_all, 64, 64, rings) == pairwise);

static_assert(chosen(collective::all_reduce, 8188, 4, open_mpi) == recursive_doubling);
static_assert(chosen(collective::all_reduce, 8192, 4, open_mpi) == rabenseifner);
static_assert(chosen(collective::all_reduce, 131072, 64, open_mpi) == recursive_doubling);
static_assert(chosen(collective::all_reduce, 262144, 64, open_mpi) == rabenseifner);
static_assert(chosen(collective::all_reduce, 65536, 128, open_mpi) == reduce_and_broadcast);
static_assert(chosen(collective::all_reduce, 65536, 256, open_mpi) == rabenseifner);
static_assert(chosen(collective::all_reduce, 64, 32, open_mpi) == recursive_doubling);  // 16 elements
static_assert(chosen(collective::all_reduce, 68, 16, open_mpi) == recursive_doubling);
static_assert(chosen(collective::all_reduce, 8, 4, open_mpi) == recursive_doubling);  // 2 elements
static_assert(chosen(collective::all_reduce, 4096, 3, open_mpi) == ring);
static_assert(chosen(collective::all_reduce, 64, 128, open_mpi) == reduce_and_broadcast);
static_assert(chosen(collective::all_gather, 512, 32, open_mpi) == recursive_doubling);
static_assert(chosen(collective::all_gather, 512, 128, open_mpi) == neighbour_exchange);
static_assert(chosen(collective::all_gather, 65536, 64, open_mpi) == ring);
static_assert(chosen(collective::all_to_all, 64 * 511, 64, open_mpi) == bruck);
static_assert(chosen(collective::all_to_all, 64 * 1024, 64, open_mpi) == linear);
static_assert(chosen(collective::all_to_all, 64 * 262144, 64, open_mpi) == pairwise);

// ---- in a cost

struct rows : axis<256> {};
struct column : mesh<rows> {};

/// The seconds of a sum of one float over all processes.
constexpr double seconds_of_a_number(algorithm_choice choice, bool goes_on = false) {
  machine_model m = machine;
  m.algorithms    = choice;
  collective_call call{.type = element::float32, .over = 1, .count = 1, .payload = 4, .sent = 7};
  if (goes_on) call.until = computed_work{1, 0};
  return cost<column>::seconds_of(call, m);
}
static_assert(seconds_of_a_number(rings) > 500 * 2e-6);
static_assert(seconds_of_a_number(cheapest) > 8 * 2e-6 && seconds_of_a_number(cheapest) < 8.1 * 2e-6);
static_assert(seconds_of_a_number(open_mpi) > 12 * 2e-6 && seconds_of_a_number(open_mpi) < 12.1 * 2e-6);
// a sum that goes on while the process computes is an exchange of pairs, whatever MPI would do
static_assert(seconds_of_a_number(cheapest, true) == seconds_of_a_number(rings));

}  // namespace
