// The first elements in order under every placement, against their definition: sort, top_k, and the gradient.
#include "processes.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <meshtf/plan/rank_plan.hpp>

namespace {

using namespace verified;
using meshtf::merge_steps;
using meshtf::rank_steps;
using meshtf::shape;
namespace task = meshtf::task;

constexpr int along     = 1;  // b
constexpr int kept      = 2;  // c, the first elements of each line
constexpr int candidate = 3;  // d, those of each part

/// Elements and where they are, on each process.
struct ranked {
  std::vector<shard> value;
  std::vector<indices> index;

  ranked(setting const& s, dim_list const& dims)
      : value(unwritten_shards(s, dims)), index(unwritten_indices(s, dims)) {}
};

/// The rules of `rank_plan`, and of `split_rank_plan` with `d` for the candidates of a part.
struct rank_rules {
  rule whole_lines;
  rule of_part;
  rule merge;
};
template<class L, class X>
rank_rules rules_of() {
  using plan   = meshtf::rank_plan<L, X, b, c>;
  using result = typename plan::result;
  using part   = meshtf::replaced<X, b, shape<d>>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return {rule_of<L, rank_steps, meshtf::united<X, shape<c>>, b, c>(meshtf::arrays_of<X, result>{}, 0),
          rule_of<L, rank_steps, meshtf::united<X, shape<d>>, b, d>(meshtf::arrays_of<X, part>{}, 0),
          rule_of<L, merge_steps, meshtf::united<meshtf::united<X, shape<d>>, shape<c>>, d, c, b>(
              meshtf::arrays_of<part, result>{}, 0)};
}

ranked first_of_lines(setting const& s, rule const& r, std::vector<shard> const& x, bool descending) {
  ranked z{s, r.array[1]};
  for_each_plan<rank_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    std::vector<std::int64_t> scratch(static_cast<std::size_t>(task::rank<double>::scratch(steps)));
    task::rank<double>{descending}.compute(steps, here, x[p].data(), z.value[p].data(), z.index[p].data(),
                                           scratch.data());
  });
  return z;
}

/// As `ops/reduce/top_k.hpp: ranked_in_parts` asks for it.
ranked first_of_parts(setting s, rank_rules const& r, std::vector<shard> const& x, bool descending) {
  s.dim[candidate].size = std::min(s.size(kept), s.dim[along].allocated_extent());
  ranked const found    = first_of_lines(s, r.of_part, x, descending);
  auto const values     = gathered(s, found.value, s.dim[along].over.set());
  auto const places     = gathered(s, found.index, s.dim[along].over.set());
  ranked z{s, r.merge.array[1]};
  for_each_plan<merge_steps>(s, r.merge, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    std::vector<std::int64_t> scratch(static_cast<std::size_t>(task::merge_ranks<double>::scratch(steps)));
    task::merge_ranks<double>{descending}.compute(steps, here, values[p].data(), places[p].data(),
                                                  z.value[p].data(), z.index[p].data(), scratch.data());
  });
  return z;
}

void check(counter& count, setting const& s, rank_rules const& r, bool descending) {
  rule const& lines = r.whole_lines;
  whole const x     = integers(s, lines.array[0], 1);
  whole const dz    = integers(s, lines.array[1], 2);
  whole value       = zeros(s, lines.array[1]);
  whole index       = zeros(s, lines.array[1]);
  whole dx          = zeros(s, lines.array[0]);
  for_each_index(s, lines.array[1], [&](position at) {
    auto const k       = at[kept];
    at[kept]           = 0;
    auto const element = [&](extent i) {
      position there = at;
      there[along]   = i;
      return x(s, there);
    };
    std::vector<extent> order(static_cast<std::size_t>(s.size(along)));
    std::iota(order.begin(), order.end(), extent{0});
    std::stable_sort(order.begin(), order.end(), [&](extent i, extent j) {
      return descending ? element(i) > element(j) : element(i) < element(j);
    });
    extent const place = order[static_cast<std::size_t>(k)];
    position there     = at;
    there[along]       = place;
    at[kept]           = k;
    value(s, at)       = x(s, there);
    index(s, at)       = static_cast<double>(place);
    dx(s, there)       = dz(s, at);
  });
  auto const xs  = shards_of(s, x);
  auto const dzs = shards_of(s, dz);
  ranked const z = s.dim[along].parts == 1 ? first_of_lines(s, lines, xs, descending)
                                           : first_of_parts(s, r, xs, descending);
  count.expect(equal(s, z.value, value), "value", s);
  count.expect(equal(s, as_shards(z.index), index), "index", s);
  auto put = filled(s, lines.array[0], 0);
  for_each_plan<rank_steps>(s, lines, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::unrank<double>{}.compute(steps, here, dzs[p].data(), z.index[p].data(), put[p].data());
  });
  count.expect(equal(s, put, dx), "dx", s);
}

template<class X>
void check_everywhere(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    rank_rules const r = rules_of<L, X>();
    ++count.placements;
    for_each_size(placed, united(letters_of<X>, letters_of<shape<c>>), [&](setting const& s) {
      if (s.size(kept) > s.size(along)) return;
      for (bool descending : {false, true}) check(count, s, r, descending);
    });
  });
}

// rule ranks: rank_plan.hpp
// checks: the first elements of each line in both orders, all of them included, and where they are; where
// lines are split, the candidates of parts; dx sizes: 1 to 5 operations: reduce/sort.hpp reduce/top_k.hpp
// reduce/nth_element.hpp
TEST_CASE("the first elements in order are their definition under every placement", "[verified]") {
  counter count{"ranks"};
  check_everywhere<shape<b>>(count);
  check_everywhere<shape<a, b>>(count);
  check_everywhere<shape<b, a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
