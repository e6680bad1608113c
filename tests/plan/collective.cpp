// Collectives: what one process hands to MPI and what it sends, for a buffer of 1200 bytes on four processes.
#include <meshtf/plan/collective.hpp>

using namespace meshtf;
using enum collective;

// What is handed over is the send buffer: all of it, but for a reduce-scatter, whose own part never leaves.
static_assert(payload_of(all_reduce, 1200, 4) == 1200);
static_assert(payload_of(all_gather, 1200, 4) == 1200);
static_assert(payload_of(all_to_all, 1200, 4) == 1200);
static_assert(payload_of(broadcast, 1200, 4) == 1200);
static_assert(payload_of(reduce_scatter, 1200, 4) == 900);

// A ring sends an all-reduce's buffer twice but for one part, a gathered shard to all but one.
static_assert(sent_by_one(all_reduce, 1200, 4) == 1800);
static_assert(sent_by_one(reduce_scatter, 1200, 4) == 900);
static_assert(sent_by_one(all_gather, 1200, 4) == 3600);
// Pairwise, a process keeps its own part.
static_assert(sent_by_one(all_to_all, 1200, 4) == 900);
static_assert(sent_by_one(broadcast, 1200, 4) == 1200);

// Parts need not be whole numbers of bytes for a ring: 2 * 4 * 2/3 of a number's four bytes.
static_assert(sent_by_one(all_reduce, 4, 3) == 5);

// A reduce-scatter and an all-gather of the parts are an all-reduce, in both figures.
constexpr bool makes_an_all_reduce(extent bytes, extent n) {
  return payload_of(reduce_scatter, bytes, n) + payload_of(all_gather, bytes / n, n) == payload_of(all_reduce, bytes, n) &&
         sent_by_one(reduce_scatter, bytes, n) + sent_by_one(all_gather, bytes / n, n) == sent_by_one(all_reduce, bytes, n);
}
static_assert(makes_an_all_reduce(1200, 2) && makes_an_all_reduce(1200, 3) && makes_an_all_reduce(1200, 4) && makes_an_all_reduce(1200, 8));

// That is how it is made from 4 MiB on, where each process gets an equal part.
static_assert(reduces_in_parts(1 << 20, 4, 2) && !reduces_in_parts((1 << 20) - 2, 4, 2));
static_assert(reduces_in_parts(1 << 19, 8, 2) && !reduces_in_parts(1 << 19, 4, 2));
static_assert(!reduces_in_parts((1 << 20) + 1, 4, 2) && !reduces_in_parts(1 << 20, 4, 3) && reduces_in_parts(3 << 20, 4, 3));

// A message of the exchange holds 256 KiB, or the part where that is less.
static_assert(exchange_piece(1'000'000, 4) == 65'536 && exchange_piece(1'000'000, 8) == 32'768 && exchange_piece(1000, 4) == 1000);

static_assert(to_string(all_reduce) == "all_reduce" && to_string(reduce_scatter) == "reduce_scatter" && to_string(all_gather) == "all_gather");
static_assert(to_string(all_to_all) == "all_to_all" && to_string(broadcast) == "broadcast");
static_assert(to_string(reduction::sum) == "sum" && to_string(reduction::max) == "max" && to_string(reduction::min) == "min");
