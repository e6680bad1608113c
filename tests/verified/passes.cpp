// Passes with loops of their own over elements, under every placement: rows that share a bias, fused
// functions, and rotations by positions, against their definition.
#include "processes.hpp"

#include <cmath>

#include <meshtf/kernel/fused.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/ops/pointwise/bias_gelu.hpp>
#include <meshtf/plan/fused_plan.hpp>
#include <meshtf/plan/rotary_plan.hpp>

namespace {

using namespace verified;
using meshtf::bias_steps;
using meshtf::rotary_steps;
using meshtf::shape;
namespace function = meshtf::function;
namespace task     = meshtf::task;

// ---- rows that share a bias

/// Two results of three operands, of which the second is a row: x * (y + z) and x - y.
struct two_of_three {
  auto operator()(auto const& x) const { return std::array{x[0] * (x[1] + x[2]), x[0] - x[1]}; }
};
struct gradients_of_three {
  auto operator()(auto const& dz, unsigned, auto const& x) const {
    return std::array{dz[0] * (x[1] + x[2]) + dz[1], dz[0] * x[0] - dz[1], dz[0] * x[0]};
  }
};

/// Arrays: the tensor, the row.
struct shared_row {
  rule steps;
  axis_set unreduced = 0;
};

void check_fused(counter& count, setting const& s, shared_row const& r) {
  whole const x   = integers(s, r.steps.array[0], 1);
  whole const row = integers(s, r.steps.array[1], 2);
  whole const y   = integers(s, r.steps.array[0], 3);
  whole const dz  = integers(s, r.steps.array[0], 4);
  whole const dt  = integers(s, r.steps.array[0], 5);
  whole z         = zeros(s, x.letters);
  whole t         = zeros(s, x.letters);
  whole dx        = zeros(s, x.letters);
  whole dy        = zeros(s, x.letters);
  whole drow      = zeros(s, row.letters);
  for_each_index(s, x.letters, [&](position const& at) {
    z(s, at)  = x(s, at) * (row(s, at) + y(s, at));
    t(s, at)  = x(s, at) - row(s, at);
    dx(s, at) = dz(s, at) * (row(s, at) + y(s, at)) + dt(s, at);
    dy(s, at) = dz(s, at) * x(s, at);
    drow(s, at) += dz(s, at) * x(s, at) - dt(s, at);
  });
  auto const xs   = shards_of(s, x);
  auto const rows = shards_of(s, row);
  auto const ys   = shards_of(s, y);
  auto const dzs  = shards_of(s, dz);
  auto const dts  = shards_of(s, dt);
  auto first      = unwritten_shards(s, x.letters);
  auto second     = first;
  auto back_x     = first;
  auto back_y     = first;
  auto sums       = unwritten_shards(s, row.letters);
  for_each_plan<bias_steps>(s, r.steps, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::map_results<two_of_three, double, 3, 2, 2U>{}.compute(
        steps, here, xs[p].data(), rows[p].data(), ys[p].data(), first[p].data(), second[p].data());
    task::map_gradients<gradients_of_three, double, 3, 2, 2U, false>{{}, 7U, 3U}.compute(
        steps, here, dzs[p].data(), dts[p].data(), xs[p].data(), rows[p].data(), ys[p].data(),
        back_x[p].data(), sums[p].data(), back_y[p].data());
  });
  count.expect(equal(s, first, z), "first result", s);
  count.expect(equal(s, second, t), "second result", s);
  count.expect(equal(s, back_x, dx), "dx", s);
  count.expect(equal(s, back_y, dy), "dy", s);
  count.expect(equal(s, joined(s, sums, r.unreduced), drow), "gradient of the row", s);
}

/// x + bias is 100 or more, or its opposite, where the slope of gelu is 1 or 0.
void check_bias(counter& count, setting const& s, shared_row const& r) {
  whole x        = integers(s, r.steps.array[0], 1);
  whole bias     = integers(s, r.steps.array[1], 2);
  whole const dz = integers(s, r.steps.array[0], 3);
  whole dx       = zeros(s, x.letters);
  whole dbias    = zeros(s, bias.letters);
  for (double& element : x.element) element = 200 * static_cast<double>(static_cast<int>(element) % 2);
  for (double& element : bias.element) element = element < 0 ? -100 : 100;
  for_each_index(s, x.letters, [&](position const& at) {
    dx(s, at) = x(s, at) + bias(s, at) > 0 ? dz(s, at) : 0;
    dbias(s, at) += dx(s, at);
  });
  auto const xs  = shards_of(s, x);
  auto const bs  = shards_of(s, bias);
  auto const dzs = shards_of(s, dz);
  auto found     = unwritten_shards(s, x.letters);
  auto sums      = unwritten_shards(s, bias.letters);
  for_each_plan<bias_steps>(s, r.steps, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    task::map_rows_and_sum<function::gelu_of_sum_gradient, double>{}.compute(
        steps, here, dzs[p].data(), xs[p].data(), bs[p].data(), found[p].data(), sums[p].data());
  });
  count.expect(equal(s, found, dx), "dx", s);
  count.expect(equal(s, joined(s, sums, r.unreduced), dbias), "gradient of the bias", s);
}

void check_rows(counter& count, setting const& placed, shared_row const& fused, shared_row const& biased) {
  ++count.placements;
  for_each_size(placed, fused.steps.array[0], [&](setting const& s) {
    check_fused(count, s, fused);
    check_bias(count, s, biased);
  });
}
template<class X, class Row>
void check_shared_rows(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    using fused  = meshtf::fused_plan<L, X, X, Row, X>;
    using biased = meshtf::bias_plan<L, X, Row>;
    static_assert(fused::one_pass && fused::rows == 2 && biased::innermost &&
                  meshtf::accepted<typename biased::verdict>);
    check_rows(
        count, placed,
        {rule_of<L, bias_steps, X>(meshtf::arrays_of<X, typename fused::walked>{}, 0), fused::unreduced},
        {rule_of<L, bias_steps, X>(meshtf::arrays_of<X, Row>{}, 0), biased::unreduced});
  });
}

// rule shared rows: bias_plan.hpp fused_plan.hpp
// checks: two results of three operands, one of them a row that the others share, and all gradients, in one
// pass; the gradients of x and bias in the pass of bias_gelu, where the slope is 0 or 1. (Other passes of
// fused functions are nests) sizes: 1 to 5 operations: pointwise/bias_gelu.hpp pointwise/fused.hpp
TEST_CASE("rows that share a bias are their definition under every placement", "[verified]") {
  counter count{"shared rows"};
  check_shared_rows<shape<a, b>, shape<b>>(count);
  check_shared_rows<shape<a, b, c>, shape<c>>(count);
  check_shared_rows<shape<a, b, c>, shape<b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- rotations

constexpr int along    = 1;  // b
constexpr extent first = 2;  // what is added to positions
constexpr double base  = 100;

/// Pairs along `b` by the positions of other dimensions. One element of each pair is 0, so that each result
/// is one product: `second` says which.
void check_rotation(counter& count, setting const& s, rule const& r, bool second, bool back) {
  whole x         = integers(s, r.array[0], 1);
  whole positions = integers(s, r.array[2], 2);
  whole z         = zeros(s, r.array[1]);
  extent const n  = s.size(along) / 2;
  for (double& element : positions.element) element += 5;
  for_each_index(s, x.letters, [&](position const& at) {
    if ((at[along] >= n) != second) x(s, at) = 0;
  });
  for_each_index(s, x.letters, [&](position const& at) {
    extent const pair = at[along] % n;
    double const step = std::pow(base, -1 / static_cast<double>(n));
    double rate       = 1;
    for (extent k = 0; k < pair; ++k) rate *= step;
    double const angle = (positions(s, at) + static_cast<double>(first)) * rate;
    double const sine  = back ? -std::sin(angle) : std::sin(angle);
    position other     = at;
    other[along]       = (at[along] + n) % (2 * n);
    bool const later   = at[along] >= n;
    if (later == second) z(s, at) = x(s, at) * std::cos(angle);
    else z(s, at) = x(s, other) * (later ? sine : -sine);
  });
  auto const xs     = shards_of(s, x);
  auto const places = as_indices(shards_of(s, positions));
  auto found        = unwritten_shards(s, z.letters);
  using turn        = task::rotate<double>;
  shard scratch(static_cast<std::size_t>(2 * n * meshtf::kernel::thread_count()));
  for_each_plan<rotary_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    turn{first, base, back}.compute(steps, here, xs[p].data(), found[p].data(), places[p].data(),
                                    scratch.data());
  });
  count.expect(equal(s, found, z), back ? "gradient" : "value", s);
}
void check_rotations(counter& count, setting const& placed, rule const& r) {
  ++count.placements;
  dim_list others;
  for (int l : r.array[0])
    if (l != along) others.push_back(l);
  for_each_size(placed, others, [&](setting s) {
    for (extent n : {2, 4, 6}) {
      s.dim[std::size_t{along}].size = n;
      for (bool second : {false, true})
        for (bool back : {false, true}) check_rotation(count, s, r, second, back);
    }
  });
}
template<class X, class Positions>
void check_all_rotations(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) {
    if constexpr (meshtf::split_over<L, shape<b>> == 0)  // `rotated_dim_is_split`
      check_rotations(count, placed, rule_of<L, rotary_steps, X, b>(meshtf::arrays_of<X, X, Positions>{}, 0));
  });
}

// rule rotations: rotary_plan.hpp array_walk.hpp
// checks: pairs rotated by positions that have one of the other dimensions or several, in any order, and
// rotated back, which is the gradient sizes: 2, 4 and 6 elements along which pairs lie, 1 to 5 of the others
// operations: pointwise/rotary.hpp
TEST_CASE("rotations are their definition under every placement", "[verified]") {
  counter count{"rotations"};
  check_all_rotations<shape<a, b>, shape<a>>(count);
  check_all_rotations<shape<a, c, b>, shape<c>>(count);
  check_all_rotations<shape<a, c, b>, shape<c, a>>(count);
  check_all_rotations<shape<b, a>, shape<a>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
