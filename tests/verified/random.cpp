// Random values under every placement: each element has the bits that it has in one process with all of them.
#include "processes.hpp"

#include <meshtf/plan/random_plan.hpp>

namespace {

using namespace verified;
using meshtf::random_key;
using meshtf::shape;
using meshtf::shard_steps;
namespace task = meshtf::task;

constexpr random_key key{.seed = 7, .stream = 3};

/// The numbers of a line of as many elements, which is whole: element k is the k-th of the tensor.
template<class F>
whole in_one_process(setting const& s, dim_list const& dims, F const& compute) {
  whole z = zeros(s, dims);
  shard_steps line{.rank = 1, .elements = static_cast<extent>(z.element.size())};
  line.dim[0].size = line.local[0] = line.elements;
  compute(line, z.element.data());
  return z;
}

template<class Distribution>
void check_draw(counter& count, setting const& s, rule const& r, Distribution const& distribution) {
  task::draw<double, Distribution> const draw{distribution};
  whole const z = in_one_process(s, r.array[0], [&](shard_steps const& steps, double* all) {
    draw.compute(steps, place_in_mesh{}, all);
  });
  auto found    = unwritten_shards(s, r.array[0]);
  for_each_plan<shard_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    draw.compute(steps, here, found[p].data());
  });
  count.expect(equal(s, found, z), "random number", s);
}

void check_drop(counter& count, setting const& s, rule const& r) {
  task::drop<double> const drop{key, 0.5};
  whole const x = integers(s, r.array[0], 1);
  whole const z = in_one_process(s, r.array[0], [&](shard_steps const& steps, double* all) {
    drop.compute(steps, place_in_mesh{}, x.element.data(), all);
  });
  auto const xs = shards_of(s, x);
  auto found    = unwritten_shards(s, r.array[0]);
  for_each_plan<shard_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    drop.compute(steps, here, xs[p].data(), found[p].data());
  });
  count.expect(equal(s, found, z), "dropped element", s);
}

void check_random(counter& count, setting const& placed, rule const& r) {
  ++count.placements;
  for_each_size(placed, r.array[0], [&](setting const& s) {
    check_draw(count, s, r, meshtf::uniform_distribution{key, -1, 2});
    check_draw(count, s, r, meshtf::normal_distribution{key, 1, 2});
    check_draw(count, s, r, meshtf::truncated_normal_distribution{key, 1, 2});
    check_drop(count, s, r);
  });
}
template<class X>
void check_everywhere(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    check_random(count, placed, rule_of<L, shard_steps, X>(meshtf::arrays_of<X>{}, 0));
  });
}

// rule random: random_plan.hpp shard_plan.hpp
// checks: uniform, normal and truncated normal numbers, and the elements that dropout keeps, have the bits of
// one process, where element k of the whole tensor is the k-th. (A sample is the largest of scores: see nest
// and lines) sizes: 1 to 5 operations: random/*
TEST_CASE("random values are those of one process under every placement", "[verified]") {
  counter count{"random"};
  check_everywhere<shape<a, b>>(count);
  check_everywhere<shape<a, b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
