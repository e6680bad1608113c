// The free ranges of a file: what is given back is joined with its neighbours, and taken from the first range
// that has room.
#include <cstddef>
#include <random>
#include <vector>

#include <meshtf/runtime/free_ranges.hpp>

#include "../catch.hpp"

using meshtf::extent;
using meshtf::detail::free_ranges;

TEST_CASE("ranges that touch are one") {
  free_ranges r;
  CHECK(r.take(1) == -1);
  r.give_back({0, 10});
  r.give_back({20, 10});
  CHECK(r.take(11) == -1);
  r.give_back({10, 10});
  CHECK(r.take(30) == 0);
  CHECK(r.take(1) == -1);
}

TEST_CASE("the first range with room is taken from its start") {
  free_ranges r;
  r.give_back({0, 4});
  r.give_back({8, 16});
  CHECK(r.take(6) == 8);
  CHECK(r.take(4) == 0);
  CHECK(r.take(10) == 14);
  CHECK(r.take(1) == -1);
}

TEST_CASE("no byte is taken twice, and all of them come back") {
  constexpr extent size = 4096;
  free_ranges r;
  r.give_back({0, size});
  std::vector<free_ranges::range> taken;
  std::vector<bool> used(std::size_t{size});
  std::mt19937 random{1};
  for (int i = 0; i < 20000; ++i) {
    if (taken.empty() || random() % 2 == 0) {
      extent const bytes = 1 + random() % 64;
      extent const start = r.take(bytes);
      if (start < 0) continue;
      bool unused = true;
      for (extent k = start; k < start + bytes; ++k) {
        unused                            = unused && !used[static_cast<std::size_t>(k)];
        used[static_cast<std::size_t>(k)] = true;
      }
      REQUIRE(unused);
      taken.push_back({start, bytes});
    } else {
      std::size_t const k = random() % taken.size();
      for (extent b = taken[k].start; b < taken[k].start + taken[k].bytes; ++b)
        used[static_cast<std::size_t>(b)] = false;
      r.give_back(taken[k]);
      taken[k] = taken.back();
      taken.pop_back();
    }
  }
  for (free_ranges::range const& t : taken) r.give_back(t);
  CHECK(r.take(size) == 0);
}
