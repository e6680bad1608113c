// Norms under every placement, against their definition in whole arrays. Elements are chosen so that means
// and roots are exact.
#include "processes.hpp"

#include <cmath>

#include <meshtf/ops/normalise/standardised.hpp>
#include <meshtf/plan/norm_plan.hpp>

namespace {

using namespace verified;
using meshtf::line_steps;
using meshtf::nest_steps;
using meshtf::reduction;
using meshtf::shape;
namespace function = meshtf::function;
namespace task     = meshtf::task;

constexpr int along = 1;  // b

// ---- norms along a dimension

struct norm_rule {
  rule lines;
  dim_list row{};
  axis_set scale_unreduced = 0;

  dim_list const& x() const { return lines.array[0]; }
};
template<class L, class X>
norm_rule norm() {
  using plan = meshtf::norm_plan<L, X, b>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return {rule_of<L, line_steps, X, b>(meshtf::arrays_of<X>{}, plan::finished_over),
          letters_of<typename plan::row>, plan::scale_unreduced};
}

/// A multiple of all numbers of elements, so that means of integers times it are integers, and the smallest
/// even power of two that is no less than any variance of `rows_about_means`.
constexpr double multiple      = 60;
constexpr double largest_power = 0x1p14;

/// Rows of which every element but one is the same, about different means. With `epsilon_for` the deviation
/// is a power of two.
whole rows_about_means(setting const& s, dim_list const& dims, dim_list const& row) {
  extent const n    = s.size(along);
  whole const means = integers(s, row, 11);
  whole const other = integers(s, row, 12);
  whole x           = zeros(s, dims);
  for_each_index(s, dims, [&](position const& at) {
    bool const differs = at[along] == (static_cast<extent>(other(s, at)) + 5) % n;
    x(s, at)           = multiple * (means(s, at) + (differs ? static_cast<double>(n - 1) : -1));
  });
  return x;
}
double epsilon_for(setting const& s) {
  return largest_power - multiple * multiple * static_cast<double>(s.size(along) - 1);
}
/// Rows whose elements differ only in their sign.
whole rows_of_signs(setting const& s, dim_list const& dims, dim_list const& row) {
  whole const power = integers(s, row, 11);
  whole x           = integers(s, dims, 12);
  for_each_index(s, dims, [&](position const& at) {
    x(s, at) = std::ldexp(x(s, at) < 0 ? -1.0 : 1.0, static_cast<int>(power(s, at)));
  });
  return x;
}

struct norm_operands {
  whole x;
  whole added;  // to x, before the norm
  whole scale;
  whole bias;
  whole dz;
  whole before;  // what dx is added to
  double epsilon;
};
norm_operands operands(setting const& s, norm_rule const& r, bool centred) {
  norm_operands all{.x       = centred ? rows_about_means(s, r.x(), r.row) : rows_of_signs(s, r.x(), r.row),
                    .added   = integers(s, r.x(), 2),
                    .scale   = integers(s, letters_of<shape<b>>, 3),
                    .bias    = integers(s, letters_of<shape<b>>, 4),
                    .dz      = integers(s, r.x(), 5),
                    .before  = integers(s, r.x(), 6),
                    .epsilon = centred ? epsilon_for(s) : 0};
  for (double& element : all.dz.element) element *= multiple;
  return all;
}

/// z, and the gradients, of whole arrays.
struct norm_results {
  whole z;
  whole dx;
  whole dscale;
  whole dbias;
};
norm_results definition(setting const& s, norm_rule const& r, norm_operands const& o, bool centred) {
  auto const n = static_cast<double>(s.size(along));
  whole mean   = zeros(s, r.row);
  whole rstd   = zeros(s, r.row);
  whole of_g   = zeros(s, r.row);
  whole of_gy  = zeros(s, r.row);
  norm_results all{zeros(s, r.x()), zeros(s, r.x()), zeros(s, o.scale.letters), zeros(s, o.scale.letters)};
  auto const y    = [&](position const& at) { return (o.x(s, at) - mean(s, at)) * rstd(s, at); };
  auto const each = [&](auto const& f) { for_each_index(s, r.x(), f); };
  if (centred) each([&](position const& at) { mean(s, at) += o.x(s, at) / n; });
  each([&](position const& at) {
    rstd(s, at) += (o.x(s, at) - mean(s, at)) * (o.x(s, at) - mean(s, at)) / n;
  });
  for (double& element : rstd.element) element = 1 / std::sqrt(element + o.epsilon);
  each([&](position const& at) {
    double const g = o.dz(s, at) * o.scale(s, at);
    all.z(s, at)   = y(at) * o.scale(s, at) + (centred ? o.bias(s, at) : 0);
    all.dscale(s, at) += o.dz(s, at) * y(at);
    all.dbias(s, at) += o.dz(s, at);
    if (centred) of_g(s, at) += g;
    of_gy(s, at) += g * y(at);
  });
  each([&](position const& at) {
    double const g = o.dz(s, at) * o.scale(s, at) - of_g(s, at) / n - y(at) * (of_gy(s, at) / n);
    all.dx(s, at)  = g * rstd(s, at) + o.before(s, at);
  });
  return all;
}

/// As `ops/normalise/norm.hpp` asks for it.
void check_norm(counter& count, setting const& s, norm_rule const& r, bool centred) {
  norm_operands const o       = operands(s, r, centred);
  norm_results const expected = definition(s, r, o, centred);
  whole rest                  = o.x;
  for (std::size_t k = 0; k < rest.element.size(); ++k) rest.element[k] -= o.added.element[k];
  auto const xs     = shards_of(s, rest);
  auto const added  = shards_of(s, o.added);
  auto const scale  = shards_of(s, o.scale);
  auto const bias   = shards_of(s, o.bias);
  auto const dz     = shards_of(s, o.dz);
  auto const before = shards_of(s, o.before);
  auto sum          = unwritten_shards(s, r.x());
  auto z            = sum;
  auto dx           = sum;
  auto mean         = unwritten_shards(s, r.row);
  auto rstd         = mean;
  auto dscale       = unwritten_shards(s, o.scale.letters);
  auto dbias        = dscale;
  bool const parts  = r.lines.finished_over != 0;
  auto const each   = [&](auto const& f) { for_each_plan<line_steps>(s, r.lines, f); };
  auto const arrays = [&](std::size_t p) {
    return meshtf::norm_arrays<double>{.x     = xs[p].data(),
                                       .added = added[p].data(),
                                       .sum   = sum[p].data(),
                                       .scale = scale[p].data(),
                                       .bias  = bias[p].data(),
                                       .mean  = mean[p].data(),
                                       .rstd  = rstd[p].data(),
                                       .z     = z[p].data()};
  };
  auto const gradients = [&](std::size_t p) {
    return meshtf::norm_gradient_arrays<double>{.x      = sum[p].data(),
                                                .mean   = mean[p].data(),
                                                .rstd   = rstd[p].data(),
                                                .scale  = scale[p].data(),
                                                .dz     = dz[p].data(),
                                                .before = before[p].data(),
                                                .dx     = dx[p].data(),
                                                .dscale = dscale[p].data(),
                                                .dbias  = dbias[p].data()};
  };
  constexpr meshtf::norm_wishes all{.x = true, .scale = true, .bias = true, .adds = true};
  std::vector<shard> moments(s.processes(), shard((centred ? 2 : 1) * allocated(s, r.row), unwritten));
  if (parts) {
    each([&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      task::row_moments<double>{{centred, true}}.compute(steps, here, arrays(p), moments[p].data());
    });
    moments = joined(s, moments, r.lines.finished_over);
  }
  each([&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    if (parts)
      task::normalise_by<double>{{centred}, o.epsilon}.compute(steps, here, arrays(p),
                                                               std::as_const(moments[p]).data());
    else task::normalise<double>{{centred, true}, o.epsilon}.compute(steps, here, arrays(p));
  });
  if (parts) {
    each([&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      task::norm_gradient_sums<double>{{centred, all}}.compute(steps, here, gradients(p), moments[p].data());
    });
    moments = joined(s, moments, r.lines.finished_over);
  }
  each([&](std::size_t p, place_in_mesh const& here, auto const& steps) {
    if (parts)
      task::norm_gradient_by<double>{{centred, all}}.compute(steps, here, gradients(p),
                                                             std::as_const(moments[p]).data());
    else task::norm_gradient<double>{{centred, all}}.compute(steps, here, gradients(p));
  });
  count.expect(equal(s, sum, o.x), "sum", s);
  count.expect(equal(s, z, expected.z), "value", s);
  count.expect(equal(s, dx, expected.dx), "dx", s);
  count.expect(equal(s, joined(s, dscale, r.scale_unreduced), expected.dscale), "gradient of the scale", s);
  count.expect(equal(s, joined(s, dbias, r.scale_unreduced), expected.dbias), "gradient of the bias", s);
}

void check_norm(counter& count, setting const& placed, norm_rule const& r) {
  ++count.placements;
  auto const check = [&](setting const& s) {
    check_norm(count, s, r, true);
    check_norm(count, s, r, false);
  };
  for_each_size(placed, r.x(), check,
                r.x().count > 2 ? std::vector<extent>{1, 3, 5} : std::vector<extent>{1, 2, 3, 4, 5});
}
template<class X>
void check_norms(counter& count) {
  for_each_layout<X>([&]<class L>(setting const& placed) { check_norm(count, placed, norm<L, X>()); });
}

// rule norms: norm_plan.hpp lines.hpp
// checks: layer norm and RMS norm of a residual sum, with the gradients of x, to which another is added, of
// scale and bias sizes: 1 to 5; 1, 3 and 5 with three dimensions operations: normalise/norm.hpp
TEST_CASE("norms are their definition under every placement", "[verified]") {
  counter count{"norms"};
  check_norms<shape<b>>(count);
  check_norms<shape<a, b>>(count);
  check_norms<shape<b, a>>(count);
  check_norms<shape<a, b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

// ---- norms of groups

/// Where the nests of a norm of groups have their arrays; the result is the last.
struct group_rules {
  rule distances;  // x, the mean of each group -> a number for each group
  rule lines;      // x, the mean, the slope, the bias -> z
  rule moments;    // dz, x, the mean -> the shape of the slope
  rule to_scale;   // the shape of the slope -> that of the scale
  rule to_groups;  // the shape of the slope, the scale -> a number for each group
};
template<class L, class Out, class... In>
rule nest() {
  using plan = meshtf::nest_plan<L, Out, In...>;
  static_assert(meshtf::accepted<typename plan::verdict>);
  return rule_of<L, nest_steps, typename plan::loops>(meshtf::arrays_of<In..., Out>{}, plan::finished_over);
}

/// f(x...) for all indices, added up over those that the result lacks, in the processes and by definition.
template<class Task, class F, class... X>
bool agrees(setting const& s, rule const& r, Task const& work, F const& f, X const&... x) {
  whole z = zeros(s, r.array[sizeof...(X)]);
  for_each_index(s, united(z.letters, x.letters...), [&](position const& at) { z(s, at) += f(x(s, at)...); });
  auto found = unwritten_shards(s, z.letters);
  [&](auto const&... shards) {
    for_each_plan<nest_steps>(s, r, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
      work.compute(steps, here, found[p].data(), shards[p].data()...);
    });
  }(shards_of(s, x)...);
  return equal(s, joined(s, found, r.finished_over), z);
}

void check_groups(counter& count, setting const& placed, group_rules const& r) {
  ++count.placements;
  auto const check = [&](setting const& s) {
    whole const x     = integers(s, r.lines.array[0], 1);
    whole const mean  = integers(s, r.lines.array[1], 2);
    whole const slope = integers(s, r.lines.array[2], 3);
    whole const bias  = integers(s, r.lines.array[3], 4);
    whole const dz    = integers(s, r.lines.array[0], 5);
    count.expect(agrees(
                     s, r.distances,
                     task::reduce<reduction::sum, function::squared_distance<double>, double, double, double>{
                         function::squared_distance<double>{1}},
                     [](double e, double m) { return (e - m) * (e - m); }, x, mean),
                 "variance", s);
    count.expect(
        agrees(
            s, r.lines, task::map<function::line_about, double, double, double, double, double>{},
            [](double e, double m, double k, double t) { return (e - m) * k + t; }, x, mean, slope, bias),
        "value", s);
    count.expect(agrees(
                     s, r.moments,
                     task::reduce<reduction::sum, function::times_distance, double, double, double, double>{},
                     [](double d, double e, double m) { return d * (e - m); }, dz, x, mean),
                 "sum of the gradient", s);
    count.expect(agrees(
                     s, r.to_scale, task::reduce<reduction::sum, function::identity, double, double>{},
                     [](double k) { return k; }, slope),
                 "gradient of the scale", s);
    count.expect(agrees(
                     s, r.to_groups, task::reduce<reduction::sum, function::times, double, double, double>{},
                     [](double k, double t) { return k * t; }, slope, bias),
                 "sum for dx", s);
  };
  for_each_size(placed, r.lines.array[0], check, {1, 2, 5});
}
template<class X, class Row, class Scale>
void check_norms_of_groups(counter& count) {
  using slope = meshtf::detail::group_and_scale<X, Row, Scale>;
  for_each_layout<X>([&]<class L>(setting const& placed) {
    check_groups(count, placed,
                 {nest<L, Row, X, Row>(), nest<L, X, X, Row, slope, Scale>(), nest<L, slope, X, X, Row>(),
                  nest<L, Scale, slope>(), nest<L, Row, slope, Scale>()});
  });
}

// rule norms of groups: nest_plan.hpp nest.hpp
// checks: the sums and lines that a batch norm and a group norm are made of: squares about the mean of each
// channel or group, lines about it, and the sums that the gradients need sizes: 1, 2 and 5 operations:
// normalise/batch_norm.hpp normalise/group_norm.hpp normalise/standardised.hpp
TEST_CASE("norms of groups are their definition under every placement", "[verified]") {
  counter count{"norms of groups"};
  check_norms_of_groups<shape<a, b, c>, shape<c>, shape<c>>(count);
  check_norms_of_groups<shape<a, b, c>, shape<a, b>, shape<b, c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
