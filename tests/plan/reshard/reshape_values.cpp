// Reshapes: every element keeps its place in the order of all elements, from any layout to any other, or there is a fault that says why not.
#include "../../catch.hpp"

#include <random>
#include <vector>

#include "simulated.hpp"

#include <meshtf/plan/reshard/reshape_moves.hpp>

namespace {

using namespace simulated;

// Every placement of dimensions of these sizes in which an axis splits at most one dimension; with `several`, a dimension may have more than one.
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
          if ((used >> a & 1) != 0 || (!several && p[d].parts > 1) || sizes[d] % (p[d].parts * mesh[at(a)]) != 0) continue;
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

// Source: the pairs that Mesh TensorFlow 0.1.21 was run on: 2527 were right, 264 wrong without a word, the others exceptions.
TEST_CASE("every pair of layouts of reshapes of 16 elements on 2x2") {
  vec const mesh{2, 2};
  std::vector<placements> all;
  for (vec const& sizes : {vec{16}, vec{4, 4}, vec{2, 8}, vec{8, 2}, vec{2, 2, 4}, vec{4, 2, 2}, vec{2, 4, 2}})
    for (placements const& p : all_layouts(sizes, mesh, false)) all.push_back(p);
  CHECK(all.size() * all.size() == 3969);

  int good = 0;
  for (placements const& from : all)
    for (placements const& to : all) {
      reshape_way const way = plan_reshape(from, to, 0, mesh);
      REQUIRE(way.fault.what == reshape_fault::none);   // each splits at the outer factor of a dimension
      good += right(from, to, 0, mesh, way.steps);
    }
  CHECK(good == 3969);
}

TEST_CASE("with several axes to a dimension, open sums and sizes that axes do not divide: right or refused") {
  std::mt19937 random(3);
  int good = 0, refused = 0;
  for (vec const& mesh : {vec{2, 2}, vec{2, 3}, vec{3, 4}}) {
    std::vector<placements> all;
    for (vec const& sizes : {vec{24}, vec{4, 6}, vec{6, 4}, vec{2, 12}, vec{12, 2}, vec{2, 2, 6}, vec{3, 8}})
      for (placements const& p : all_layouts(sizes, mesh, true)) all.push_back(p);
    for (placements const& from : all)
      for (placements const& to : all) {
        if (random() % 4 != 0) continue;
        axis_set owed = static_cast<axis_set>(random() & 3);
        for (placed const& d : from) owed &= ~d.over.set();
        reshape_way const way = plan_reshape(from, to, owed, mesh);
        if (way.fault.what == reshape_fault::none) {
          ++good;
          REQUIRE(right(from, to, owed, mesh, way.steps));
          continue;
        }
        ++refused;
        REQUIRE(way.steps.count == 0);
        if (way.fault.what != reshape_fault::runs_across) {
          REQUIRE(way.fault.what == reshape_fault::no_common_factors);
          continue;
        }
        // with the axes that fit, and no others, this dimension is no obstacle
        placements here = from, there = to;
        placed& d = (way.fault.of_result ? there : here)[at(way.fault.dim)];
        REQUIRE(way.fault.fitting < d.over.count);
        d.over.count = way.fault.fitting;
        d.parts      = 1;
        for (int a : d.over) d.parts *= mesh[at(a)];
        reshape_fault const then = plan_reshape(here, there, owed & ~d.over.set(), mesh).fault;
        REQUIRE((then.what != reshape_fault::runs_across || then.of_result != way.fault.of_result || then.dim > way.fault.dim));
      }
  }
  INFO(good << " right, " << refused << " refused");
  CHECK(good > 500);
  CHECK(refused > 100);
}

TEST_CASE("4x6 elements are no 3x8 elements, and a split runs across the factors that are cut") {
  vec const mesh{2, 3};
  placed const four{.size = 4}, six{.size = 6}, three{.size = 3}, eight{.size = 8};
  CHECK(plan_reshape(placements{four, six}, placements{three, eight}, 0, mesh).fault.what == reshape_fault::no_common_factors);

  axis_list both;
  both.push_back(0);
  both.push_back(1);
  placed const split{.size = 24, .parts = 6, .over = both};
  auto const fault = plan_reshape(placements{split}, placements{four, six}, 0, mesh).fault;   // 2 of the 4, and then 3 of 2
  CHECK(fault.what == reshape_fault::runs_across);
  CHECK(!fault.of_result);
  CHECK(fault.fitting == 1);
  CHECK(plan_reshape(placements{split}, placements{six, four}, 0, mesh).fault.what == reshape_fault::none);   // 2 x 3 of the 6
}
