// Collectives on any number of processes, with counts that fit into one message and counts that do not.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/runtime/collectives.hpp>

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
    z         = r == reduction::sum ? static_cast<T>(z + x) : r == reduction::max ? std::max(z, x) : std::min(z, x);
  }
  return z;
}

}  // namespace

TEMPLATE_TEST_CASE("a maximum of which one is not a number is not a number", "", float, double) {
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

TEMPLATE_TEST_CASE("every process gets what every process gave", "", float, double, std::int32_t) {
  using T = TestType;
  boost::mpi::communicator const world;
  int const rank = world.rank(), size = world.size();
  auto const n     = GENERATE(as<extent>{}, 0, 1, 5, 64, 1000);
  auto const limit = GENERATE(as<extent>{}, 3, 64, std::numeric_limits<int>::max());
  short_messages const lowered{limit};

  SECTION("all_reduce") {
    for (reduction r : {reduction::sum, reduction::max, reduction::min}) {
      auto z = array_of<T>(rank, n);
      all_reduce(world, r, z.data(), n);
      for (extent k = 0; k < n; ++k) REQUIRE(z[static_cast<std::size_t>(k)] == joined_at<T>(r, size, k));
    }
  }

  SECTION("reduce_scatter, into an array of its own or in place") {
    for (reduction r : {reduction::sum, reduction::max, reduction::min})
      for (bool in_place : {false, true}) {
        auto parts = array_of<T>(rank, n * size);
        std::vector<T> buffer(static_cast<std::size_t>(n)), apart(static_cast<std::size_t>(n));
        T* const sum = in_place ? parts.data() + rank * n : apart.data();
        reduce_scatter(world, r, parts.data(), n, buffer.data(), sum);
        for (extent k = 0; k < n; ++k) REQUIRE(sum[k] == joined_at<T>(r, size, rank * n + k));
      }
  }

  SECTION("all_gather") {
    auto const part = array_of<T>(rank, n);
    std::vector<T> whole(static_cast<std::size_t>(n * size));
    all_gather(world, part.data(), n, whole.data());
    for (int q = 0; q < size; ++q)
      for (extent k = 0; k < n; ++k) REQUIRE(whole[static_cast<std::size_t>(q * n + k)] == element_at<T>(q, k));
  }

  SECTION("all_to_all") {
    auto const from = array_of<T>(rank, n * size);
    std::vector<T> to(static_cast<std::size_t>(n * size));
    all_to_all(world, from.data(), n, to.data());
    for (int q = 0; q < size; ++q)
      for (extent k = 0; k < n; ++k) REQUIRE(to[static_cast<std::size_t>(q * n + k)] == element_at<T>(q, rank * n + k));
  }

  SECTION("broadcast") {
    auto z = array_of<T>(rank, n);
    broadcast(world, z.data(), n, size - 1);
    CHECK(z == array_of<T>(size - 1, n));
  }
}

TEST_CASE("a sum of rounded values has the same bits each time") {
  boost::mpi::communicator const world;
  extent const n = 999;
  std::vector<float> first;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<float> parts, buffer(n), sum(n);
    for (extent k = 0; k < n * world.size(); ++k) parts.push_back(1.f / static_cast<float>(1 + k + 1000 * world.rank()));
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
                    Catch::Contains("broadcast of 1 elements over \"rows cols\" failed on process " + std::to_string(world.rank())));
}
