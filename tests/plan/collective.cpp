// If it compiles, it passes.
#include <meshtf/plan/collective.hpp>

namespace {

using namespace meshtf;
using enum collective;

// what a process hands to MPI: what it holds, but of a reduce-scatter its own part stays at home
static_assert(payload_of(all_reduce, 1200, 4) == 1200 && payload_of(all_gather, 300, 4) == 300 &&
              payload_of(all_to_all, 1200, 4) == 1200);
static_assert(payload_of(reduce_scatter, 1200, 4) == 3 * 300 && payload_of(broadcast, 1200, 4) == 1200 &&
              payload_of(permute, 1200, 4) == 1200);

// what it sends. A ring all-reduce passes each of n parts on n-1 times, twice: 2 * (n-1)/n of the value
static_assert(sent_by_one(all_reduce, 1200, 4) == 2 * 3 * 300);
static_assert(sent_by_one(all_reduce, 1200, 2) == 1200);

// it is a reduce-scatter and then an all-gather of a part
static_assert(sent_by_one(reduce_scatter, 1200, 4) == 3 * 300 && sent_by_one(all_gather, 300, 4) == 3 * 300);
static_assert(sent_by_one(all_reduce, 1200, 4) ==
              sent_by_one(reduce_scatter, 1200, 4) + sent_by_one(all_gather, 1200 / 4, 4));

// a permute gives away all that it has, an all-to-all keeps one part of n
static_assert(sent_by_one(permute, 1200, 4) == 1200);
static_assert(sent_by_one(all_to_all, 1200, 4) == 3 * 300 && sent_by_one(broadcast, 1200, 4) == 1200);

// a process hands its neighbour all that it was asked for, and in a scan to the next what has come to it; the
// last of a scan waits for all before it
static_assert(payload_of(neighbours, 1200, 4) == 1200 && sent_by_one(neighbours, 1200, 4) == 1200 &&
              messages_of(neighbours, 4) == 1);
static_assert(payload_of(scan, 1200, 4) == 1200 && sent_by_one(scan, 1200, 4) == 1200 &&
              messages_of(scan, 4) == 3);
static_assert(sent_by_one(neighbours, 1200, 1) == 0 && sent_by_one(scan, 1200, 1) == 0);

// one process sends nothing
static_assert(sent_by_one(all_reduce, 1200, 1) == 0 && sent_by_one(all_gather, 1200, 1) == 0 &&
              sent_by_one(reduce_scatter, 1200, 1) == 0 && sent_by_one(all_to_all, 1200, 1) == 0);

// a short array is reduced in one call; a long one in two, where each process can have a part of it. The
// price is the same
constexpr extent four_mib = 4 * 1024 * 1024;
static_assert(!reduces_in_parts(four_mib / 4 - 4, 4, 4) && reduces_in_parts(four_mib / 4, 4, 4) &&
              reduces_in_parts(four_mib / 8, 8, 4));
static_assert(!reduces_in_parts(four_mib / 4 + 2, 4, 4));
static_assert(payload_of(reduce_scatter, four_mib, 4) + payload_of(all_gather, four_mib / 4, 4) ==
              payload_of(all_reduce, four_mib, 4));

// over several nodes a long array is reduced within each first, if its processes can have equal parts
static_assert(reduces_by_nodes(16 * 1024, 4, 4, 2) && !reduces_by_nodes(16 * 1024 - 4, 4, 4, 2) &&
              !reduces_by_nodes(16 * 1024 + 2, 4, 4, 2));
static_assert(!reduces_by_nodes(1 << 20, 4, 4, 1) && !reduces_by_nodes(1 << 20, 4, 1, 4));

// messages of a pairwise exchange have at most 256 KiB
static_assert(exchange_piece(1000, 4) == 1000 && exchange_piece(1'000'000, 4) == 64 * 1024 &&
              exchange_piece(1'000'000, 8) == 32 * 1024);

// the words of ledgers
static_assert(to_string(all_reduce) == "all_reduce" && to_string(all_gather) == "all_gather" &&
              to_string(reduce_scatter) == "reduce_scatter" && to_string(all_to_all) == "all_to_all" &&
              to_string(broadcast) == "broadcast" && to_string(permute) == "permute" &&
              to_string(neighbours) == "neighbours" && to_string(scan) == "scan");
static_assert(to_string(reduction::sum) == "sum" && to_string(reduction::max) == "max" &&
              to_string(reduction::min) == "min");

}  // namespace
