// The shim and the comparison find what they are there to find.
#include <new>

#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>

#include "../catch.hpp"
#include "compare.hpp"
#include "heap.hpp"
#include "layouts.hpp"

namespace accounting {

namespace {

/// A step with one call of each kind that the library makes: all-reduce, all-gather, all-to-all, permute,
/// reduce-scatter.
struct by_column : meshtf::layout<square_grid, meshtf::split<hidden, rows, cols>> {};
struct by_row : meshtf::layout<square_grid, meshtf::split<batch, rows, cols>> {};
struct turned : meshtf::layout<square_grid, meshtf::split<hidden, cols, rows>> {};
struct whole : meshtf::layout<square_grid> {};

struct every_kind {
  template<meshtf::Layout L, class Machine>
  constexpr void operator()(Machine& m) const {
    using by_column_too = meshtf::layout_beside<L, by_column>;
    meshtf::tensor<double, by_column_too, batch, hidden> const x{m};
    meshtf::tensor<double, by_column_too, hidden, inner> const y{m};
    auto const total = sum<hidden>(x);              // all-reduce
    auto const all   = meshtf::reshard<whole>(x);   // all-gather
    auto const other = meshtf::reshard<by_row>(x);  // all-to-all
    auto const again = meshtf::reshard<turned>(x);  // permute
    auto const open  = meshtf::partial_einsum<batch, inner>(x, y);
    auto const part  = meshtf::reshard<by_row>(open);  // reduce-scatter
  }
};

/// Hands 3 elements to the process with the next part, and adds up 5 over the parts before, in an order of
/// parts that is not that of ranks.
struct along_a_row {
  template<meshtf::Layout L, class Machine>
  constexpr void operator()(Machine& m) const {
    meshtf::axis_list over;
    over.push_back(1);
    over.push_back(0);
    meshtf::tensor<double, L, inner> const x{m};
    meshtf::tensor<double, L, inner> const z{m};
    meshtf::tensor<double, L, inner> sums{m};
    m.begin_operation("along_a_row");
    m.exchange_with_neighbours(x.data(), sums.data(), 3, over, 1, false);
    m.exchange_with_neighbours(x.data(), sums.data(), 3, over, -1, true);
    m.exclusive_scan(meshtf::reduction::sum, 0., sums.data(), 5, over, false);
  }
};

struct tall : meshtf::dim<512> {};
struct broad : meshtf::dim<1040> {};  // a part is no multiple of a message

/// Adds up an array of more than 4 MiB over all processes.
struct long_sum {
  template<meshtf::Layout L, class Machine>
  constexpr void operator()(Machine& m) const {
    meshtf::tensor<double, L, tall, broad> const x{m};
    auto const open  = meshtf::as_partial<rows, cols>(x);
    auto const total = finish(open);
  }
};

constexpr auto promised = meshtf::dry_run<by_column>(every_kind{});

/// Runs it, and something else before and after, and says where MPI and `cost` differ.
template<class Before, class After>
std::string differs(meshtf::cost<square_grid> const& cost, Before before, After after) {
  meshtf::process_mesh<square_grid> m{MPI_COMM_WORLD};
  pmpi::start();
  before();
  every_kind{}.operator()<by_column>(m);
  after();
  return difference(cost, pmpi::stop());
}
template<class After>
std::string differs(meshtf::cost<square_grid> const& cost, After after) {
  return differs(cost, [] {}, after);
}
std::string differs(meshtf::cost<square_grid> const& cost) {
  return differs(cost, [] {});
}

/// `promised` with its call number `at` changed by `change`.
template<class F>
meshtf::cost<square_grid> changed(std::size_t at, F change) {
  meshtf::cost<square_grid> cost;
  for (std::size_t i = 0; i < promised.collectives().size(); ++i) {
    auto c = promised.collectives()[i];
    if (i == at) change(c);
    cost.note(c);
  }
  return cost;
}

}  // namespace

static_assert(promised.calls() == 5);
static_assert(promised.calls<meshtf::collective::all_reduce>() == 1);
static_assert(promised.calls<meshtf::collective::all_gather>() == 1);
static_assert(promised.calls<meshtf::collective::all_to_all>() == 1);
static_assert(promised.calls<meshtf::collective::permute>() == 1);
static_assert(promised.calls<meshtf::collective::reduce_scatter>() == 1);

TEST_CASE("one call of each kind is what was promised", "[4]") { CHECK(differs(promised) == ""); }

TEST_CASE("a wrong price, axis, kind and type are found in each call", "[4]") {
  using meshtf::collective, meshtf::collective_call, meshtf::element;
  for (std::size_t i = 0; i < promised.collectives().size(); ++i) {
    CHECK(differs(changed(i, [](collective_call& c) { c.payload += 8; })) != "");
    CHECK(differs(changed(i, [](collective_call& c) { c.over = 1; })) != "");
    CHECK(differs(changed(i, [](collective_call& c) { c.over = 2; })) != "");
    CHECK(differs(changed(i, [](collective_call& c) { c.kind = collective::broadcast; })) != "");
    CHECK(differs(changed(i, [](collective_call& c) { c.type = element::float32; })) != "");
  }
}

TEST_CASE("a wrong order is found", "[4]") {
  auto const calls = promised.collectives();
  for (std::size_t first = 0; first + 1 < calls.size(); ++first) {
    meshtf::cost<square_grid> cost;
    std::vector<meshtf::collective_call> order(calls.begin(), calls.end());
    std::swap(order[first], order[first + 1]);
    for (auto const& call : order) cost.note(call);
    CHECK(differs(cost) != "");
  }
}

TEST_CASE("a call too few and one too many are found", "[4]") {
  meshtf::cost<square_grid> cost;
  for (auto const& c : promised.collectives().first(4)) cost.note(c);
  CHECK(differs(cost) != "");
  cost.note(promised.collectives()[4]);
  CHECK(differs(cost) == "");
  cost.note(promised.collectives()[0]);
  CHECK(differs(cost) != "");
}

TEST_CASE("a message that the ledger does not have is found, whoever sends it", "[4]") {
  boost::mpi::communicator const world;
  int one        = 1;
  int other      = 0;
  int const next = (world.rank() + 1) % world.size();
  int const last = (world.rank() + 3) % world.size();
  CHECK(differs(promised, [] { MPI_Barrier(MPI_COMM_WORLD); }) ==
        "the ledger has no such call: Barrier of 0 bytes over \"MPI_COMM_WORLD\"");
  CHECK(differs(
            promised, [] { MPI_Barrier(MPI_COMM_WORLD); }, [] {}) ==
        "call 0, for sum: expected Allreduce of 128 bytes over \"rows cols\", MPI saw Barrier of 0 bytes "
        "over \"MPI_COMM_WORLD\"");
  // called in Boost.MPI's library
  CHECK(differs(promised, [&] { world.barrier(); }).starts_with("the ledger has no such call: Barrier"));
  CHECK(differs(promised, [&] { world.split(0); }).starts_with("the ledger has no such call: Comm_split"));
  CHECK(differs(promised, [&] {
          MPI_Request both[2];
          MPI_Irecv(&other, 1, MPI_INT, last, 0, world, &both[0]);
          MPI_Isend(&one, 1, MPI_INT, next, 0, world, &both[1]);
          MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        }) == "the ledger has no such call: Irecv of 0 bytes over \"MPI_COMM_WORLD\"");
  CHECK(differs(promised, [&] {
          MPI_Request request;
          MPI_Iallreduce(&one, &other, 1, MPI_INT, MPI_SUM, world, &request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
        }).starts_with("the ledger has no such call: Iallreduce of 4 bytes"));
}

TEST_CASE("a long all-reduce is a reduce-scatter in pieces and an all-gather in place", "[4]") {
  static constexpr auto cost = meshtf::dry_run<whole>(long_sum{});
  static_assert(cost.calls<meshtf::collective::all_reduce>() == 0);
  static_assert(cost.calls<meshtf::collective::reduce_scatter>() == 1);
  static_assert(cost.calls<meshtf::collective::all_gather>() == 1);
  meshtf::process_mesh<square_grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = meshtf::recorded<whole>(m, long_sum{});
  auto const made    = pmpi::stop();
  CHECK(difference(cost, counted) == "");
  CHECK(cost == counted);
  CHECK(difference(cost, made) == "");
  CHECK(made.size() > 3 + 1);
}

TEST_CASE("what crosses to the next part is promised as the busiest process sends it", "[4]") {
  static constexpr auto cost = meshtf::dry_run<whole>(along_a_row{});
  static_assert(cost.calls<meshtf::collective::neighbours>() == 2 &&
                cost.calls<meshtf::collective::scan>() == 1);
  static_assert(cost.bytes_sent() == (3 + 3 + 5) * 8 && cost.bytes_sent() == cost.payload());
  meshtf::process_mesh<square_grid> m{MPI_COMM_WORLD};
  pmpi::start();
  auto const counted = meshtf::recorded<whole>(m, along_a_row{});
  auto const made    = pmpi::stop();
  CHECK(cost == counted);
  CHECK(difference(cost, made) == "");
  std::int64_t bytes = 0;
  std::int64_t most  = 0;
  for (auto const& c : made) bytes += c.bytes;
  MPI_Allreduce(&bytes, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  CHECK(most == cost.payload());
  // the last part has nobody to hand to, unless the row is closed to a ring
  CHECK(bytes == (m.rank() == 3 ? 3 * 8 : most));
}

TEST_CASE("parts follow each other in the order of a dimension's axes", "[4]") {
  meshtf::process_mesh<square_grid> m{MPI_COMM_WORLD};
  meshtf::axis_list over;
  over.push_back(1);
  over.push_back(0);
  auto const part    = static_cast<double>(m.place().part_of(over));
  double x           = part;
  double from_before = -1;
  double from_after  = -1;
  double sum         = part;
  m.exchange_with_neighbours(&x, &from_before, 1, over, 1, false);
  m.exchange_with_neighbours(&x, &from_after, 1, over, -1, true);
  m.exclusive_scan(meshtf::reduction::sum, 0., &sum, 1, over, true);
  CHECK(from_before == part - 1);
  CHECK(from_after == (part == 3 ? 0 : part + 1));
  int sum_of_later_parts = 0;
  for (int p = 3; p > part; --p) sum_of_later_parts += p;
  CHECK(sum == sum_of_later_parts);
}

TEST_CASE("operator new is counted") {
  auto const before = heap::allocations();
  operator delete(operator new(4));  // a new expression the compiler may leave out
  operator delete[](operator new[](64, std::align_val_t{64}), std::align_val_t{64});
  CHECK(heap::allocations() == before + 2);
}

TEST_CASE("communicators carry the names of their axes", "[4]") {
  pmpi::start();
  meshtf::process_mesh<square_grid> const m{MPI_COMM_WORLD};
  // a duplicate; nobody, rows, cols split from it; whether anybody wants MESHTF_CHECK
  CHECK(pmpi::stop().size() == 5);
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  for (auto const& [over, expected] : {std::pair{1u, "rows"}, {2u, "cols"}, {3u, "rows cols"}}) {
    MPI_Comm_get_name(m.along(over), name, &length);
    CHECK(std::string{name} == expected);
  }
  // by the type of an axis there is the same communicator
  CHECK(&m.along<rows>() == &m.along(1));
  CHECK(&m.along<cols>() == &m.along(2));
  CHECK(m.along<rows>().rank() == m.coordinate<rows>());
}

}  // namespace accounting
