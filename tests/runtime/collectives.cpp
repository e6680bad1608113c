// Collectives on any number of processes, with counts that fit into one message and counts that do not.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/plan/reshard/reshard_moves.hpp>
#include <meshtf/runtime/process_mesh.hpp>

#include "../catch.hpp"

using namespace meshtf;

namespace {

/// Messages of at most n elements for as long as it lives.
struct short_messages {
  explicit short_messages(extent n) { detail::largest_count = n; }
  ~short_messages() { detail::largest_count = std::numeric_limits<int>::max(); }
};

/// Element k of process `rank`: small whole numbers, so that sums are exact in any order.
template<class T>
T element_at(int rank, extent k) {
  return static_cast<T>((7 * rank + 3 * k) % 11);
}

template<class T>
std::vector<T> array_of(int rank, extent n) {
  std::vector<T> z(static_cast<std::size_t>(n));
  for (extent k = 0; k < n; ++k) z[static_cast<std::size_t>(k)] = element_at<T>(rank, k);
  return z;
}

template<class T>
T joined_at(reduction r, int size, extent k) {
  T z = element_at<T>(0, k);
  for (int q = 1; q < size; ++q) {
    T const x = element_at<T>(q, k);
    if (r == reduction::sum) z = static_cast<T>(z + x);
    else z = r == reduction::max ? std::max(z, x) : std::min(z, x);
  }
  return z;
}

/// The first of n elements that is not what it should be, or -1. (A comparison of Catch's each took most of
/// the time.)
template<class T, class Expected>
extent first_wrong(T const* z, extent n, Expected expected) {
  for (extent k = 0; k < n; ++k)
    if (!(z[k] == expected(k))) return k;
  return -1;
}

}  // namespace

TEMPLATE_TEST_CASE("a maximum of which one is not a number is not a number", "", float, double,
                   meshtf::bfloat16) {
  using T = TestType;
  boost::mpi::communicator const world;
  auto const n   = GENERATE(as<extent>{}, 1, 64, 100000);
  auto const bad = GENERATE(0, 1) % world.size();
  for (reduction r : {reduction::max, reduction::min}) {
    auto z = array_of<T>(world.rank(), n);
    if (world.rank() == bad) z.back() = std::numeric_limits<T>::quiet_NaN();
    all_reduce(world, r, z.data(), n);
    CHECK(z.back() != z.back());
    CHECK(std::count_if(z.begin(), z.end(), [](T x) { return x != x; }) == 1);
  }
}

TEMPLATE_TEST_CASE("every process gets what every process gave", "", float, double, std::int32_t,
                   std::int64_t, meshtf::bfloat16) {
  using T = TestType;
  boost::mpi::communicator const world;
  int const rank   = world.rank();
  int const size   = world.size();
  auto const n     = GENERATE(as<extent>{}, 0, 1, 5, 64, 1000);
  auto const limit = GENERATE(as<extent>{}, 3, 64, std::numeric_limits<int>::max());
  short_messages const lowered{limit};

  SECTION("all_reduce") {
    for (reduction r : {reduction::sum, reduction::max, reduction::min}) {
      auto z = array_of<T>(rank, n);
      all_reduce(world, r, z.data(), n);
      REQUIRE(first_wrong(z.data(), n, [&](extent k) { return joined_at<T>(r, size, k); }) == -1);
    }
  }

  SECTION("reduce_scatter, into an array of its own or in place") {
    for (reduction r : {reduction::sum, reduction::max, reduction::min})
      for (bool in_place : {false, true}) {
        auto parts = array_of<T>(rank, n * size);
        std::vector<T> buffer(static_cast<std::size_t>(exchange_scratch(n, element_of<T>)));
        std::vector<T> apart(static_cast<std::size_t>(n));
        T* const sum = in_place ? parts.data() + rank * n : apart.data();
        reduce_scatter(world, r, parts.data(), n, buffer.data(), sum);
        REQUIRE(first_wrong(sum, n, [&](extent k) { return joined_at<T>(r, size, rank * n + k); }) == -1);
      }
  }

  SECTION("all_gather") {
    auto const part = array_of<T>(rank, n);
    std::vector<T> whole(static_cast<std::size_t>(n * size));
    all_gather(world, part.data(), n, whole.data());
    for (int q = 0; q < size; ++q)
      REQUIRE(first_wrong(whole.data() + q * n, n, [&](extent k) { return element_at<T>(q, k); }) == -1);
  }

  SECTION("all_to_all") {
    auto const from = array_of<T>(rank, n * size);
    std::vector<T> to(static_cast<std::size_t>(n * size));
    all_to_all(world, from.data(), n, to.data());
    for (int q = 0; q < size; ++q)
      REQUIRE(first_wrong(to.data() + q * n, n, [&](extent k) { return element_at<T>(q, rank * n + k); }) ==
              -1);
  }

  SECTION("neighbours, where the ends of the row have one alone") {
    auto const x     = array_of<T>(rank, n);
    auto z           = array_of<T>(size, n);
    int const after  = rank + 1 == size ? MPI_PROC_NULL : rank + 1;
    int const before = rank == 0 ? MPI_PROC_NULL : rank - 1;
    exchange_with_neighbours(world, x.data(), after, z.data(), before, n);
    CHECK(z == array_of<T>(rank == 0 ? size : rank - 1, n));
  }

  SECTION("exclusive_scan, from either end") {
    int const after  = rank + 1 == size ? MPI_PROC_NULL : rank + 1;
    int const before = rank == 0 ? MPI_PROC_NULL : rank - 1;
    std::vector<T> buffer(static_cast<std::size_t>(n));
    auto z        = array_of<T>(rank, n);
    auto from_end = z;
    exclusive_scan(world, reduction::sum, T{}, z.data(), buffer.data(), n, before, after);
    exclusive_scan(world, reduction::max, static_cast<T>(-1), from_end.data(), buffer.data(), n, after,
                   before);
    for (extent k = 0; k < n; ++k) {
      REQUIRE(z[static_cast<std::size_t>(k)] == (rank == 0 ? T{} : joined_at<T>(reduction::sum, rank, k)));
      T most = static_cast<T>(-1);
      for (int q = rank + 1; q < size; ++q) most = std::max(most, element_at<T>(q, k));
      REQUIRE(from_end[static_cast<std::size_t>(k)] == most);
    }
  }

  SECTION("broadcast") {
    auto z = array_of<T>(rank, n);
    broadcast(world, z.data(), n, size - 1);
    CHECK(z == array_of<T>(size - 1, n));
  }
}

TEST_CASE("a pairwise sum of bfloat16 is rounded once") {
  boost::mpi::communicator const world;
  int const size = world.size();
  extent const n = 200'000;  // more than one piece
  auto const at  = [](int rank, extent k) {
    return meshtf::bfloat16{std::sin(static_cast<double>(k + 1) * (rank + 1))};
  };
  std::vector<meshtf::bfloat16> parts;
  std::vector<meshtf::bfloat16> buffer(static_cast<std::size_t>(exchange_scratch(n, element::bfloat16)));
  std::vector<meshtf::bfloat16> sum(static_cast<std::size_t>(n));
  for (extent k = 0; k < n * size; ++k) parts.push_back(at(world.rank(), k));
  reduce_scatter(world, reduction::sum, parts.data(), n, buffer.data(), sum.data());
  bool once = true;
  for (extent k = 0; k < n; ++k) {
    float exact = 0;  // sums of so few are exact, or nearly so
    for (int i = 0; i < size; ++i)
      exact += static_cast<float>(at((world.rank() - i + size) % size, world.rank() * n + k));
    once = once && sum[static_cast<std::size_t>(k)].bits == meshtf::bfloat16{exact}.bits;
  }
  CHECK(once);
}

TEST_CASE("a sum of rounded values has the same bits each time") {
  boost::mpi::communicator const world;
  extent const n = 999;
  std::vector<float> first;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<float> parts;
    std::vector<float> buffer(n);
    std::vector<float> sum(n);
    for (extent k = 0; k < n * world.size(); ++k)
      parts.push_back(1.f / static_cast<float>(1 + k + 1000 * world.rank()));
    reduce_scatter(world, reduction::sum, parts.data(), n, buffer.data(), sum.data());
    if (turn == 0) first = sum;
    CHECK(sum == first);
  }
}

TEST_CASE("a call that MPI refuses throws and names itself") {
  boost::mpi::communicator const world;
  boost::mpi::communicator const mine{world, boost::mpi::comm_duplicate};
  throw_on_failure(mine);
  MPI_Comm_set_name(mine, "rows cols");
  float x = 0;
  CHECK_THROWS_AS(broadcast(mine, &x, 1, 1000), unavailable);
  CHECK_THROWS_WITH(broadcast(mine, &x, 1, 1000),
                    Catch::Contains("broadcast of 1 elements over \"rows cols\" failed on process " +
                                    std::to_string(world.rank())));
}

namespace {

template<extent N>
struct rows : axis<N> {};
template<extent N>
struct cols : axis<N> {};
template<extent Rows, extent Cols>
struct grid : mesh<rows<Rows>, cols<Cols>> {};

using three_dims = std::array<placed, 3>;

/// This process's part of an array in which every element is its index.
template<class T, Mesh M>
std::vector<T> shard_of(process_mesh<M> const& m, three_dims const& dims) {
  std::array<extent, 3> first{};
  for (std::size_t d = 0; d < 3; ++d) {
    for (int a : dims[d].over)
      first[d] = first[d] * axis_sizes<M>[static_cast<std::size_t>(a)] +
                 m.coordinates()[static_cast<std::size_t>(a)];
    first[d] *= dims[d].allocated_extent();
  }
  std::vector<T> shard;
  for (extent i = 0; i < dims[0].allocated_extent(); ++i)
    for (extent j = 0; j < dims[1].allocated_extent(); ++j)
      for (extent k = 0; k < dims[2].allocated_extent(); ++k)
        shard.push_back(
            static_cast<T>(((first[0] + i) * dims[1].size + first[1] + j) * dims[2].size + first[2] + k));
  return shard;
}

/// How many all-to-alls were on the way, by whether they pack and unpack.
template<class T, Mesh M>
void check_moves(process_mesh<M>& m, three_dims const& from, three_dims const& to, std::vector<T> value,
                 std::vector<T> const& expected, std::array<int, 4>& found) {
  for (reshard_move const& move : plan_reshard(from, to, 0, axis_sizes<M>)) {
    found[move.packs * 2u + move.unpacks] += move.kind == transfer_kind::all_to_all;
    std::vector<T> next(static_cast<std::size_t>(move.result));
    m.move(move, value.data(), next.data());
    value = std::move(next);
  }
  bool const arrived = value == expected;
  CHECK(arrived);
}

template<class T, Mesh M>
void check_all_to_alls(boost::mpi::communicator const& world) {
  process_mesh<M> m{world};
  auto const dim = [](extent size, axis_list const& over) {
    return placed{size, processes_along(axis_sizes<M>, over.set()), over};
  };
  axis_list const none;
  std::array<axis_list, 4> ways;
  ways[0].push_back(0);
  ways[1].push_back(1);
  ways[2].push_back(0);
  ways[2].push_back(1);
  ways[3].push_back(1);
  ways[3].push_back(0);
  std::array<int, 4> found{};
  for (extent size : {4, 12, 148})  // of the last, a block is some pieces, the last one shorter
    for (axis_list const& over : ways) {
      three_dims const along[]{{dim(size, over), dim(36, none), dim(100, none)},
                               {dim(size, none), dim(36, over), dim(100, none)},
                               {dim(size, none), dim(36, none), dim(100, over)}};
      std::array<std::vector<T>, 3> const shards{shard_of<T>(m, along[0]), shard_of<T>(m, along[1]),
                                                 shard_of<T>(m, along[2])};
      for (std::size_t from = 0; from < 3; ++from)
        for (std::size_t to = 0; to < 3; ++to)
          check_moves<T>(m, along[from], along[to], shards[from], shards[to], found);
    }
  CHECK((M::size == 1 || (found[1] > 0 && found[2] > 0 && found[3] > 0)));
}

}  // namespace

TEMPLATE_TEST_CASE("blocks of any size and order arrive in their place", "", float, double) {
  boost::mpi::communicator const world;
  if (world.size() == 1) check_all_to_alls<TestType, grid<1, 1>>(world);
  if (world.size() == 2) check_all_to_alls<TestType, grid<2, 1>>(world);
  if (world.size() == 4)
    check_all_to_alls<TestType, grid<2, 2>>(world), check_all_to_alls<TestType, grid<1, 4>>(world);
}
