// Agreement: an error of one process is thrown on all of them, as the class it was.
#include <memory>
#include <stdexcept>
#include <string>

#include <boost/mpi/communicator.hpp>

#include <meshtf/runtime/agree.hpp>

#include "../catch.hpp"

using namespace meshtf;

TEST_CASE("where nothing fails everyone has its own value") {
  boost::mpi::communicator const world;
  CHECK(agreed(world, [&] { return world.rank(); }) == world.rank());
  CHECK(*agreed(world, [] { return std::make_unique<int>(7); }) == 7);
  int turns = 0;
  agreed(world, [&] { ++turns; });
  CHECK(turns == 1);
}

TEST_CASE("an error of one process is thrown on all, with its class and status") {
  boost::mpi::communicator const world;
  int const last         = world.size() - 1;
  std::string const seen = world.size() == 1 ? "" : " (seen by process " + std::to_string(last) + ")";
  try {
    agreed(world, [&] {
      if (world.rank() == last) throw data_error{"no labels"};
      return 1;
    });
    FAIL("nothing was thrown");
  } catch (data_error const& e) {
    CHECK(e.what() == "no labels" + seen);
    CHECK(e.exit_status() == 65);
  }
}

TEST_CASE("the lowest process speaks, and what all see is said without a number") {
  boost::mpi::communicator const world;
  CHECK_THROWS_WITH(
      agreed(world, [&] { throw std::runtime_error{"trouble on " + std::to_string(world.rank())}; }),
      "trouble on 0");
  CHECK_THROWS_AS(agreed(world, [] { throw 7; }), software_error);
  CHECK_THROWS_WITH(agreed(world, [] { throw std::runtime_error{""}; }), "an exception without words");
  // the communicator is as good as before
  CHECK(agreed(world, [] { return 1; }) == 1);
}

TEST_CASE("called by one process alone: a whole sentence") {
  boost::mpi::communicator const all;
  boost::mpi::communicator const world{all, boost::mpi::comm_duplicate};
  if (world.size() == 1) return;
  for (int const theirs : {0, 1, -1, 1 << 30}) {  // whatever arrives
    if (world.rank() == 0) {
      CHECK_THROWS_WITH(
          agreed(world, [] { return 1; }),
          Catch::Matchers::Matches(
              "expected all processes to call agreed as process 0 does, agree.cpp:[0-9]+, got .* "
              "MESHTF_CHECK=1, "
              "which names the first call that differs"));
    } else {
      int numbers[]{theirs, theirs};
      meshtf::all_reduce(world, reduction::min, numbers, 2);
    }
  }
}
