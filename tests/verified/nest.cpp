// Loop nests under every placement, against their definition in integers: elementwise operations, broadcasts,
// transposes, sums, maxima and minima.
#include "processes.hpp"

#include <algorithm>

#include <meshtf/core/function.hpp>
#include <meshtf/plan/nest_plan.hpp>

namespace {

using namespace verified;
using meshtf::nest_steps;
using meshtf::reduction;
using meshtf::shape;
namespace function = meshtf::function;

constexpr double lowest = -std::numeric_limits<double>::infinity();

double larger(double x, double y) { return std::max(x, y); }
double smaller(double x, double y) { return std::min(x, y); }

template<class L, class Out, class... In>
rule nest() {
  using plan = meshtf::nest_plan<L, Out, In...>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return rule_of<L, nest_steps, typename plan::loops>(meshtf::arrays_of<In..., Out>{}, plan::finished_over);
}

/// What each process makes of its shards. The result is the last array of the rule.
template<class Task, class... X>
std::vector<shard> ran(Task const& task, setting const& s, rule const& r, X const&... x) {
  auto z = unwritten_shards(s, r.array[sizeof...(X)]);
  for_each_plan<nest_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, nest_steps const& own) {
    task.compute(own, here, z[p].data(), x[p].data()...);
  });
  return z;
}

/// The definition: f(x...) for all indices, joined over those that the result lacks.
template<class Join, class F, class... X>
whole definition(setting const& s, dim_list const& out, double first, Join const& join, F const& f,
                 X const&... x) {
  whole z = zeros(s, out);
  std::fill(z.element.begin(), z.element.end(), first);
  for_each_index(s, united(out, x.letters...),
                 [&](position const& at) { z(s, at) = join(z(s, at), f(x(s, at)...)); });
  return z;
}

constexpr auto product = [](double x, double y) { return x * y; };
constexpr auto itself  = [](double x) { return x; };

using map_times = meshtf::task::map<function::times, double, double, double>;
using sum_times = meshtf::task::reduce<reduction::sum, function::times, double, double, double>;
using map_moved = meshtf::task::map<function::identity, double, double>;
template<reduction Op>
using reduce_by = meshtf::task::reduce<Op, function::identity, double, double>;

/// f(s) for all sizes of one placement.
template<class Dims, class F>
void for_each_case(counter& count, setting const& s, F const& f) {
  ++count.placements;
  for_each_size(s, letters_of<Dims>, f);
}

/// z = x * y, an operand broadcast to the other or both to each other, and both gradients.
template<class Out, class X, class Y>
void check_product(counter& count) {
  using dims = meshtf::united<X, Y>;
  for_each_layout<dims>([&]<class L>(setting const& placed) {
    rule const to_z  = nest<L, Out, X, Y>();
    rule const to_dx = nest<L, X, Out, Y>();
    rule const to_dy = nest<L, Y, Out, X>();
    for_each_case<dims>(count, placed, [&](setting const& s) {
      whole const x  = integers(s, letters_of<X>, 1);
      whole const y  = integers(s, letters_of<Y>, 2);
      whole const dz = integers(s, letters_of<Out>, 3);
      auto const xs  = shards_of(s, x);
      auto const ys  = shards_of(s, y);
      auto const dzs = shards_of(s, dz);
      whole const z  = definition(s, letters_of<Out>, 0, std::plus{}, product, x, y);
      whole const dx = definition(s, letters_of<X>, 0, std::plus{}, product, dz, y);
      whole const dy = definition(s, letters_of<Y>, 0, std::plus{}, product, dz, x);
      count.expect(equal(s, ran(map_times{}, s, to_z, xs, ys), z), "value", s);
      count.expect(equal(s, joined(s, ran(sum_times{}, s, to_dx, dzs, ys), to_dx.finished_over), dx), "dx",
                   s);
      count.expect(equal(s, joined(s, ran(sum_times{}, s, to_dy, dzs, xs), to_dy.finished_over), dy), "dy",
                   s);
    });
  });
}

/// z = x, in another order or broadcast, and the gradient.
template<class Out, class X>
void check_moved(counter& count) {
  for_each_layout<Out>([&]<class L>(setting const& placed) {
    rule const to_z  = nest<L, Out, X>();
    rule const to_dx = nest<L, X, Out>();
    for_each_case<Out>(count, placed, [&](setting const& s) {
      whole const x  = integers(s, letters_of<X>, 1);
      whole const dz = integers(s, letters_of<Out>, 2);
      whole const z  = definition(s, letters_of<Out>, 0, std::plus{}, itself, x);
      whole const dx = definition(s, letters_of<X>, 0, std::plus{}, itself, dz);
      count.expect(equal(s, ran(map_moved{}, s, to_z, shards_of(s, x)), z), "value", s);
      auto const terms = ran(reduce_by<reduction::sum>{}, s, to_dx, shards_of(s, dz));
      count.expect(equal(s, joined(s, terms, to_dx.finished_over), dx), "dx", s);
    });
  });
}

/// The sum, the maximum and the minimum of x over what `Out` lacks; the sum also of pending sums.
template<class Out, class X>
void check_reduced(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    rule const to_z  = nest<L, Out, X>();
    rule const to_dx = nest<L, X, Out>();
    for_each_case<X>(count, placed, [&](setting const& s) {
      whole const x   = integers(s, letters_of<X>, 1);
      whole const dz  = integers(s, letters_of<Out>, 2);
      auto const xs   = shards_of(s, x);
      auto const over = to_z.finished_over;
      whole const sum = definition(s, letters_of<Out>, 0, std::plus{}, itself, x);
      for_each_pending(s, [&](axis_set pending) {
        auto const terms = ran(reduce_by<reduction::sum>{}, s, to_z, terms_of(s, x, pending));
        count.expect(equal(s, joined(s, terms, over | pending), sum), "sum", s);
      });
      whole const max   = definition(s, letters_of<Out>, lowest, larger, itself, x);
      whole const min   = definition(s, letters_of<Out>, -lowest, smaller, itself, x);
      auto const maxima = ran(reduce_by<reduction::max>{}, s, to_z, xs);
      auto const minima = ran(reduce_by<reduction::min>{}, s, to_z, xs);
      count.expect(equal(s, joined(s, maxima, over, larger), max), "maximum", s);
      count.expect(equal(s, joined(s, minima, over, smaller), min), "minimum", s);
      whole const dx = definition(s, letters_of<X>, 0, std::plus{}, itself, dz);
      count.expect(equal(s, ran(map_moved{}, s, to_dx, shards_of(s, dz)), dx), "dx", s);
    });
  });
}

// rule nest: nest_plan.hpp nest.hpp
// checks: products of operands broadcast to one another, with dx and dy; broadcast and transposed x, with dx;
// sum, maximum and
//   minimum over dimensions, with dx, and the sum of an x that is a pending sum over each set of free axes
// sizes: 1 to 5
// operations: pointwise/* shape/broadcast.hpp shape/transpose.hpp shape/rename.hpp shape/copy.hpp
// shape/stop_gradient.hpp reduce/any_all.hpp
//   reduce/fused_sum.hpp reduce/l2_norm.hpp reduce/logsumexp.hpp reduce/max.hpp reduce/min.hpp
//   reduce/product.hpp reduce/sum.hpp reduce/variance.hpp reduce/weighted_mean.hpp normalise/softmax.hpp
//   normalise/extra_logit.hpp
TEST_CASE("nests are their definition under every placement", "[verified]") {
  counter count{"nest"};
  check_product<shape<a, b, c>, shape<a, b, c>, shape<b>>(count);
  check_product<shape<a, b>, shape<a, b>, shape<b, a>>(count);
  check_product<shape<a, b>, shape<a>, shape<b>>(count);
  check_moved<shape<c, a, b>, shape<a, b, c>>(count);
  check_moved<shape<a, b, c>, shape<b>>(count);
  check_reduced<shape<b>, shape<a, b, c>>(count);
  check_reduced<shape<a>, shape<a, b>>(count);
  check_reduced<shape<>, shape<a, b>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
