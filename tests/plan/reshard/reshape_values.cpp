// split_dim and merge_dims: every element keeps its place in the order of all elements, from any layout to
// any other.
#include "../../catch.hpp"

#include <random>
#include <vector>

#include "simulated.hpp"

#include <meshtf/plan/reshard/reshape_moves.hpp>
#include <meshtf/plan/reshard/reshard_moves.hpp>

namespace {

using namespace simulated;

// Every placement of dimensions of these sizes in which an axis splits at most one dimension; with `several`,
// a dimension may have more than one.
std::vector<placements> all_layouts(vec const& sizes, vec const& mesh, bool several) {
  placements whole;
  for (extent n : sizes) whole.push_back({.size = n});
  std::vector<placements> all{whole};
  for (bool grew = true; grew;) {
    grew = false;
    for (placements const& p : std::vector<placements>(all))
      for (int a = 0; a < static_cast<int>(mesh.size()); ++a)
        for (std::size_t d = 0; d < sizes.size(); ++d) {
          axis_set used = 0;
          for (placed const& q : p) used |= q.over.set();
          if ((used >> a & 1) != 0 || (!several && p[d].parts > 1) ||
              sizes[d] % (p[d].parts * mesh[at(a)]) != 0)
            continue;
          placements more = p;
          more[d].over.push_back(a);
          more[d].parts *= mesh[at(a)];
          if (std::find(all.begin(), all.end(), more) != all.end()) continue;
          all.push_back(more);
          grew = true;
        }
  }
  return all;
}

}  // namespace

TEST_CASE(
    "a dimension becomes its parts, and they become it, from any layout to any other: right, or no whole "
    "turns of the parts") {
  std::mt19937 random(3);
  int good    = 0;
  int refused = 0;
  for (vec const& mesh : {vec{2, 2}, vec{2, 3}, vec{3, 4}})
    for (placements const& whole : all_layouts(vec{24}, mesh, true))
      for (vec const& sizes :
           {vec{24}, vec{4, 6}, vec{6, 4}, vec{2, 12}, vec{12, 2}, vec{2, 2, 6}, vec{3, 8}}) {
        placements parts;  // placed as the whole is
        for (extent n : sizes) parts.push_back({.size = n});
        placed cut        = whole[0];
        int const fitting = distribute(cut, parts, mesh);
        if (fitting < cut.over.count) {
          ++refused;
          cut.over.count = fitting;  // with the axes that fit, and no others, it is no obstacle
          CHECK(distribute(cut, parts, mesh) == fitting);
          continue;
        }
        for (placements const& other : all_layouts(sizes, mesh, true)) {
          axis_set unreduced = static_cast<axis_set>(random() & 3);
          for (placed const& d : whole) unreduced &= ~d.over.set();
          REQUIRE(right(whole, other, unreduced, mesh, plan_reshard(parts, other, unreduced, mesh)));
          unreduced = static_cast<axis_set>(random() & 3);
          for (placed const& d : other) unreduced &= ~d.over.set();
          REQUIRE(right(other, whole, unreduced, mesh, plan_reshard(other, parts, unreduced, mesh)));
          good += 2;
        }
      }
  INFO(good << " right, " << refused << " refused");
  CHECK(good > 500);
  CHECK(refused > 10);
}

TEST_CASE("a split runs across the parts that it does not divide") {
  vec const mesh{2, 3};
  axis_list both;
  both.push_back(0);
  both.push_back(1);
  placed const split{.size = 24, .parts = 6, .over = both};
  placements across{{.size = 4}, {.size = 6}};
  placements along{{.size = 6}, {.size = 4}};
  CHECK(distribute(split, across, mesh) == 1);  // 2 of the 4, and then 3 of 2
  CHECK(distribute(split, along, mesh) == 2);   // 2 x 3 of the 6
}
