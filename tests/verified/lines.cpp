// Lines along a dimension under every placement, against their definition in integers: cumsum, cumprod,
// argmax, iota, picked elements, and the first elements in order.
#include "processes.hpp"

#include <algorithm>
#include <type_traits>

#include <meshtf/core/function.hpp>
#include <meshtf/plan/argmax_plan.hpp>
#include <meshtf/plan/cross_entropy_plan.hpp>
#include <meshtf/plan/cumsum_plan.hpp>
#include <meshtf/plan/random_plan.hpp>
#include <meshtf/plan/rank_plan.hpp>

namespace {

using namespace verified;
using meshtf::cumsum_steps;
using meshtf::line_steps;
using meshtf::nest_steps;
using meshtf::reduction;
using meshtf::shape;
namespace task = meshtf::task;

constexpr int along = 1;  // b

position moved(position at, extent index) {
  at[std::size_t{along}] = index;
  return at;
}

// ---- running sums and products

struct running_rule {
  rule lines;
  rule each_line;
};
template<class L, class X>
running_rule running() {
  using plan = meshtf::cumsum_plan<L, X, b>;
  using line = typename plan::each_line;
  return {
      rule_of<L, cumsum_steps, X, b>(meshtf::arrays_of<X, line>{}, 0),
      rule_of<L, nest_steps, typename meshtf::nest_plan<L, line, X>::loops>(meshtf::arrays_of<X, line>{}, 0)};
}

/// Whether element `j` goes into the result for `i`.
bool goes_into(extent j, extent i, meshtf::running which) {
  if (j == i) return !which.exclusive;
  return which.reverse ? j > i : j < i;
}

template<reduction Op>
double join(double x, double y) {
  return Op == reduction::sum ? x + y : x * y;
}

/// The sum or product of each line's part in each process.
template<reduction Op>
std::vector<shard> joined_in_parts(setting const& s, running_rule const& r, std::vector<shard> const& x) {
  auto parts = unwritten_shards(s, r.each_line.array[1]);
  if constexpr (Op == reduction::sum) {
    task::reduce<Op, meshtf::function::identity, double, double> const sum{};
    for_each_plan<nest_steps>(s, r.each_line,
                              [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
                                sum.compute(steps, here, parts[p].data(), x[p].data());
                              });
  } else {  // this kernel is compiled where it is used, so here is the definition
    for_each_process(s, [&](std::size_t p, place_in_mesh const& here) {
      std::fill(parts[p].begin(), parts[p].end(), 1);
      for_each_index(s, r.lines.array[0], [&](position const& at) {
        extent const from = place_in_shard(s, r.lines.array[0], here, at);
        extent const to   = place_in_shard(s, r.each_line.array[1], here, at);
        if (from >= 0) parts[p][static_cast<std::size_t>(to)] *= x[p][static_cast<std::size_t>(from)];
      });
    });
  }
  return parts;
}

/// For each line, what the parts before that of each process have, as `ops/reduce/running.hpp` asks for it.
template<reduction Op>
std::vector<shard> joined_before(setting const& s, running_rule const& r, std::vector<shard> const& x,
                                 bool reverse) {
  auto const parts = joined_in_parts<Op>(s, r, x);
  std::vector<shard> before(x.size(), shard(parts.front().size(), Op == reduction::sum ? 0 : 1));
  for (std::size_t p = 0; p < x.size(); ++p)
    for (std::size_t q = p;;) {
      q = process_of_part(s, q, s.dim[along].over, reverse ? 1 : -1, false);
      if (q == x.size()) break;
      std::transform(before[p].begin(), before[p].end(), parts[q].begin(), before[p].begin(), join<Op>);
    }
  return before;
}

template<reduction Op>
std::vector<shard> run_along(setting const& s, running_rule const& r, std::vector<shard> const& x,
                             meshtf::running which) {
  auto z            = unwritten_shards(s, r.lines.array[0]);
  bool const split  = s.dim[along].parts > 1;
  auto const before = split ? joined_before<Op>(s, r, x, which.reverse) : x;
  for_each_plan<cumsum_steps>(s, r.lines, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    if (split)
      task::run_on<Op, double>{which.reverse, which.exclusive}.compute(steps, here, x[p].data(),
                                                                       before[p].data(), z[p].data());
    else
      task::run_along<Op, double>{which.reverse, which.exclusive}.compute(steps, here, x[p].data(),
                                                                          z[p].data());
  });
  return z;
}

std::vector<shard> cumprod_gradient(setting const& s, running_rule const& r, std::vector<shard> const& x,
                                    std::vector<shard> const& dz, meshtf::running which) {
  auto dx = unwritten_shards(s, r.lines.array[0]);
  if (s.dim[along].parts == 1) {
    for_each_plan<cumsum_steps>(s, r.lines, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      task::cumprod_gradient<double>{which.reverse, which.exclusive}.compute(steps, here, x[p].data(),
                                                                             dz[p].data(), dx[p].data());
    });
    return dx;
  }
  auto const lines  = allocated(s, r.lines.array[1]);
  auto const before = joined_before<reduction::product>(s, r, x, which.reverse);
  std::vector<shard> folded(x.size(), shard(2 * lines, unwritten));
  for_each_plan<cumsum_steps>(s, r.lines, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::fold_products<double>{which.reverse, which.exclusive}.compute(steps, here, x[p].data(),
                                                                        dz[p].data(), folded[p].data());
  });
  auto const all = gathered(s, folded, s.dim[along].over.set());
  for_each_plan<cumsum_steps>(s, r.lines, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    shard later(lines, unwritten);
    task::pass_through_parts<double>{s.dim[along].over, which.reverse}.compute(steps, here, all[p].data(),
                                                                               later.data());
    task::cumprod_gradient_on<double>{which.reverse, which.exclusive}.compute(
        steps, here, x[p].data(), before[p].data(), std::as_const(later).data(), dz[p].data(), dx[p].data());
  });
  return dx;
}

/// The definition: of sums, of products, and of the gradient of these.
struct by_definition {
  whole sums;
  whole products;
  whole dx;
};
by_definition run_along_definition(setting const& s, whole const& x, whole const& dz, meshtf::running which) {
  by_definition all{zeros(s, x.letters), zeros(s, x.letters), zeros(s, x.letters)};
  extent const n = s.size(along);
  for_each_index(s, x.letters, [&](position const& at) {
    extent const i = at[along];
    double product = 1;
    for (extent j = 0; j < n; ++j)
      if (goes_into(j, i, which)) {
        all.sums(s, at) += x(s, moved(at, j));
        product *= x(s, moved(at, j));
      }
    all.products(s, at) = product;
    for (extent k = 0; k < n; ++k) {  // z[k] has x[i] as a factor
      if (!goes_into(i, k, which)) continue;
      double rest = dz(s, moved(at, k));
      for (extent j = 0; j < n; ++j)
        if (j != i && goes_into(j, k, which)) rest *= x(s, moved(at, j));
      all.dx(s, at) += rest;
    }
  });
  return all;
}

template<class X>
void check_running(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    running_rule const r = running<L, X>();
    ++count.placements;
    for_each_size(placed, letters_of<X>, [&](setting const& s) {
      whole const x  = integers(s, letters_of<X>, 1);
      whole const dz = integers(s, letters_of<X>, 2);
      auto const xs  = shards_of(s, x);
      auto const dzs = shards_of(s, dz);
      for (bool exclusive : {false, true})
        for (bool reverse : {false, true}) {
          meshtf::running const which{exclusive, reverse};
          auto const all = run_along_definition(s, x, dz, which);
          for_each_pending(s, [&](axis_set pending) {
            auto const sums = run_along<reduction::sum>(s, r, terms_of(s, x, pending), which);
            count.expect(equal(s, joined(s, sums, pending), all.sums), "sum", s);
          });
          count.expect(equal(s, run_along<reduction::product>(s, r, xs, which), all.products), "product", s);
          count.expect(equal(s, cumprod_gradient(s, r, xs, dzs, which), all.dx), "gradient of products", s);
        }
    });
  });
}

// rule running: cumsum_plan.hpp lines.hpp
// checks: running sums and products, exclusive or not, from either end, also sums of an x that is a pending
// sum over each set of free axes; dx of products. (dx of sums is a sum from the other end) sizes: 1 to 5
// operations: reduce/cumsum.hpp reduce/cumprod.hpp
TEST_CASE("running sums and products are their definition under every placement", "[verified]") {
  counter count{"running"};
  check_running<shape<b>>(count);
  check_running<shape<a, b>>(count);
  check_running<shape<b, a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- the largest element, picked elements, iota

template<class L, class X>
rule line_rule() {
  using plan = meshtf::argmax_plan<L, X, b>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return rule_of<L, line_steps, X, b>(meshtf::arrays_of<X, typename plan::result>{}, plan::finished_over);
}

/// As `ops/reduce/argmax.hpp` asks for it: the largest of each part, then the first place where it is.
void check_argmax(counter& count, setting const& s, rule const& r, rule const& row) {
  whole const x = integers(s, r.array[0], 1);
  auto const xs = shards_of(s, x);
  whole first   = zeros(s, r.array[1]);
  for_each_index(s, r.array[1], [&](position const& at) {
    extent best = 0;
    for (extent j = 1; j < s.size(along); ++j)
      if (x(s, moved(at, j)) > x(s, moved(at, best))) best = j;
    first(s, at) = static_cast<double>(best);
  });
  auto largest = unwritten_shards(s, r.array[1]);
  auto where   = unwritten_indices(s, r.array[1]);
  for_each_plan<line_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::argmax<double>{}.compute(steps, here, xs[p].data(), largest[p].data(), where[p].data());
  });
  auto const peak = joined(s, largest, r.finished_over, [](double m, double n) { return std::max(m, n); });
  for_each_plan<meshtf::shard_steps>(
      s, row, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
        task::forget_smaller<double>{}.compute(steps, here, std::as_const(largest[p]).data(), peak[p].data(),
                                               where[p].data());
      });
  auto const found =
      joined(s, as_shards(where), r.finished_over, [](double m, double n) { return std::min(m, n); });
  count.expect(equal(s, found, first), "index of the largest", s);
}

/// The element that an index names, and its gradient.
void check_pick(counter& count, setting const& s, rule const& r) {
  whole const x  = integers(s, r.array[0], 1);
  whole const dz = integers(s, r.array[1], 2);
  whole index    = integers(s, r.array[1], 3);
  whole z        = zeros(s, r.array[1]);
  whole dx       = zeros(s, r.array[0]);
  for_each_index(s, r.array[1], [&](position const& at) {
    index(s, at)          = static_cast<double>((static_cast<extent>(index(s, at)) + 5) % s.size(along));
    position const picked = moved(at, static_cast<extent>(index(s, at)));
    z(s, at)              = x(s, picked);
    dx(s, picked)         = 3 * dz(s, at);
  });
  auto const xs  = shards_of(s, x);
  auto const dzs = shards_of(s, dz);
  auto const ids = as_indices(shards_of(s, index));
  auto found     = unwritten_shards(s, r.array[1]);
  auto sums      = filled(s, r.array[0], 0);
  for_each_plan<line_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::pick<double>{}.compute(steps, here, xs[p].data(), ids[p].data(), found[p].data());
    task::pick_gradient<double>{3}.compute(steps, here, dzs[p].data(), ids[p].data(), sums[p].data());
  });
  count.expect(equal(s, joined(s, found, r.finished_over), z), "picked element", s);
  count.expect(equal(s, sums, dx), "gradient of picked elements", s);
}

template<class X>
void check_lines(counter& count) {
  using row = meshtf::without<X, shape<b>>;
  for_each_layout<X>([&]<class L>(setting const& placed) {
    rule const r    = line_rule<L, X>();
    rule const rest = rule_of<L, meshtf::shard_steps, row>(meshtf::arrays_of<row>{}, 0);
    rule const only = rule_of<L, line_steps, shape<b>, b>(meshtf::arrays_of<shape<b>>{}, 0);
    ++count.placements;
    for_each_size(placed, letters_of<X>, [&](setting const& s) {
      check_argmax(count, s, r, rest);
      check_pick(count, s, r);
      auto numbers = unwritten_shards(s, only.array[0]);
      for_each_plan<line_steps>(s, only, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
        task::iota<double>{}.compute(steps, here, numbers[p].data());
      });
      whole expected = zeros(s, only.array[0]);
      for_each_index(s, only.array[0],
                     [&](position const& at) { expected(s, at) = static_cast<double>(at[along]); });
      count.expect(equal(s, numbers, expected), "iota", s);
    });
  });
}

// rule lines: lines.hpp argmax_plan.hpp cross_entropy_plan.hpp random_plan.hpp
// checks: the place of the first of the largest elements; the element of each line that an index names, and
// its gradient, which is what a cross entropy adds to the sums of nests; iota sizes: 1 to 5 operations:
// reduce/argmax.hpp reduce/max_and_argmax.hpp normalise/cross_entropy.hpp index/iota.hpp index/one_hot.hpp
TEST_CASE("lines are their definition under every placement", "[verified]") {
  counter count{"lines"};
  check_lines<shape<b>>(count);
  check_lines<shape<a, b>>(count);
  check_lines<shape<b, a>>(count);
  check_lines<shape<a, b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
