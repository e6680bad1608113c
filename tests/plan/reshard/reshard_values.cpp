// Resharding: the moves bring every element to its place. All processes of a mesh are simulated in one.
#include "../../catch.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "simulated.hpp"

namespace {

using namespace simulated;

struct random_case {
  vec mesh;
  placements from;
  placements to;
  axis_set unreduced = 0;

  random_case(std::mt19937& random, vec const& axes) : mesh(axes), from(1 + random() % 3), to(from.size()) {
    axis_set split = 0;
    for (placements* side : {&from, &to}) {
      std::vector<int> order(mesh.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (int a : order)
        if (random() % 4 != 0) {
          placed& d = (*side)[random() % side->size()];
          d.over.push_back(a);
          d.parts *= mesh[at(a)];
          if (side == &from) split |= axis_set{1} << a;
        }
    }
    for (std::size_t d = 0; d < from.size(); ++d)
      from[d].size = to[d].size =
          std::lcm(from[d].parts, to[d].parts) * static_cast<extent>(1 + random() % 3);
    unreduced = static_cast<axis_set>(random()) & ((axis_set{1} << mesh.size()) - 1) & ~split;
  }
};

}  // namespace

TEST_CASE("moves bring every element to its place") {
  std::mt19937 random(7);
  std::map<transfer_kind, int> kinds;
  for (vec const& mesh : {vec{2, 2}, vec{2, 3}, vec{2, 2, 2}, vec{3, 1, 2}, vec{4, 2, 2}})
    for (int n = 0; n < 800; ++n) {
      random_case const c(random, mesh);
      reshard_steps const steps = plan_reshard(c.from, c.to, c.unreduced, mesh);
      INFO("case " << n << " on " << mesh.size() << " axes");
      REQUIRE(steps.fault.reason == reshard_fault::none);
      REQUIRE(right(c.from, c.to, c.unreduced, mesh, steps));
      for (reshard_move const& m : steps) ++kinds[m.kind];
    }
  CHECK(kinds.size() == 6);  // each kind of move has been seen
}

TEST_CASE("what goes on being a sum is the same sum in its new place") {
  std::mt19937 random(11);
  int riding = 0;
  for (vec const& mesh : {vec{2, 2, 2}, vec{2, 3, 2}})
    for (int n = 0; n < 500; ++n) {
      random_case const c(random, mesh);
      axis_set rides = static_cast<axis_set>(random()) & 7;
      for (placements const* side : {&c.from, &c.to})
        for (placed const& d : *side) rides &= ~d.over.set();
      reshard_steps const steps = plan_reshard(c.from, c.to, c.unreduced & ~rides, mesh, rides);
      REQUIRE(steps.fault.reason == reshard_fault::none);
      for (reshard_move const& m : steps) REQUIRE((m.over & rides) == 0);

      // summed over the other axes only, and each process's own local terms along those that ride
      shards value;
      for (extent p = 0; p < product(mesh); ++p) {
        vec const who = coordinates(p, mesh);
        value.push_back(shard_of(c.from, who, mesh, [&](extent index) {
          return element_of_sum(index, c.unreduced | rides, who);
        }));
      }
      for (reshard_move const& m : steps) value = after(m, value, mesh);
      for (extent p = 0; p < product(mesh); ++p) {
        vec const who         = coordinates(p, mesh);
        auto const local_term = [&](extent index) {
          extent sum = 0;
          for (extent q = 0; q < product(mesh); ++q) {
            vec const other = coordinates(q, mesh);
            bool counts     = true;  // one for each coordinate on the axes that are summed
            for (std::size_t a = 0; a < mesh.size(); ++a)
              counts = counts && ((c.unreduced & ~rides) >> a & 1 || other[a] == who[a]);
            if (counts) sum += element_of_sum(index, c.unreduced | rides, other);
          }
          return sum;
        };
        REQUIRE(value[at(p)] == shard_of(c.to, who, mesh, local_term));
      }
      riding += rides != 0;
    }
  CHECK(riding > 50);
}

TEST_CASE("copies that need more loops than a nest has are a fault") {
  // every axis goes to a dimension of its own: 8 loops over processes and 12 over elements
  vec const mesh(8, 2);
  placements from(12, placed{.size = 8});
  placements to = from;
  for (int a = 0; a < 8; ++a) {
    from[at(a / 2)].over.push_back(a);
    to[at(4 + a)].over.push_back(a);
    from[at(a / 2)].parts = 4;
    to[at(4 + a)].parts   = 2;
  }
  reshard_steps const steps = plan_reshard(from, to, 0, mesh);
  CHECK(steps.fault.reason == reshard_fault::too_many_loops);
  CHECK(steps.count == 0);
}
