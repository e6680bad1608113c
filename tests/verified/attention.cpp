// Attention under every placement, against its definition in integers: which queries see which positions of
// the memory, and which elements meet.
//
// Scores differ by a hundred or not at all, so of what a query sees the largest have equal weights, and all
// others less than a value can show. Values are multiples of 60, so that a mean of up to five is an integer.
// What the kernel gives differs from it by the rounding of exp and log, and is rounded to the next integer.
#include "processes.hpp"

#include <cmath>
#include <limits>

#include <meshtf/kernel/parallel.hpp>
#include <meshtf/plan/attention_plan.hpp>

namespace {

using namespace verified;
using meshtf::attention_steps;
using meshtf::attention_view;
using meshtf::shape;
namespace task = meshtf::task;

std::vector<shard> rounded(std::vector<shard> all) {
  for (shard& one : all)
    for (double& element : one) element = std::round(element);
  return all;
}

/// The letters of positions, and the arrays; those of a bias and of segment ids are empty where there are
/// none.
struct attention_rule {
  rule steps{};
  int query                 = 0;
  int memory                = 0;
  int depth                 = 0;
  int width                 = 0;
  int distance              = -1;
  axis_set memory_unreduced = 0;
  axis_set bias_unreduced   = 0;

  dim_list const& of(attention_steps::operand which) const {
    return steps.array[static_cast<std::size_t>(which)];
  }
  bool is_biased() const { return of(attention_steps::bias).count > 0; }
  bool has_segments() const { return of(attention_steps::query_segment).count > 0; }
};

template<class L, class Loops, class Query, class Memory, class Key, class Width, class... Distance,
         class... S>
rule steps_of(shape<Distance...>, meshtf::arrays_of<S...> arrays) {
  return rule_of<L, attention_steps, Loops, Query, Memory, Key, Width, Distance...>(arrays, 0);
}
template<class D>
inline constexpr int letter_of = letters_of<shape<D>>[0];

template<class L, class Memory, class Q, class K, class V, class B, class QS, class MS>
attention_rule attention() {
  using plan = meshtf::attention_plan<L, b, Memory, d, Q, K, V, B, QS, MS>;
  attention_rule r{.steps = steps_of<L, typename plan::loops, b, Memory, d, typename plan::width>(
                       typename plan::distance{}, typename plan::arrays{}),
                   .query            = letter_of<b>,
                   .memory           = letter_of<Memory>,
                   .depth            = letter_of<d>,
                   .width            = letter_of<typename plan::width>,
                   .memory_unreduced = plan::memory_unreduced,
                   .bias_unreduced   = plan::bias_unreduced};
  if (plan::distance::rank > 0) r.distance = letters_of<typename plan::distance>[0];
  return r;
}

struct operands {
  whole query;
  whole key;
  whole value;
  whole dresult;
  whole bias;
  whole query_segment;
  whole memory_segment;
};
operands operands_of(setting const& s, attention_rule const& r) {
  auto const made = [&](attention_steps::operand which, unsigned seed, double factor, int kinds) {
    whole x = integers(s, r.of(which), seed);
    for (double& element : x.element)
      element = factor * static_cast<double>(static_cast<int>(element) % kinds);
    return x;
  };
  return {made(attention_steps::query, 1, 100, 2),       made(attention_steps::key, 2, 1, 2),
          made(attention_steps::value, 3, 60, 6),        made(attention_steps::result, 4, 60, 6),
          made(attention_steps::bias, 5, 100, 2),        made(attention_steps::query_segment, 6, 1, 2),
          made(attention_steps::memory_segment, 7, 1, 2)};
}

struct results {
  whole result;
  whole dquery;
  whole dkey;
  whole dvalue;
  whole dbias;
};

/// The definition, one query after the other.
class definition {
public:
  definition(setting const& s, attention_rule const& r, operands const& o, attention_view const& view)
      : s_{s}, r_{r}, o_{o}, view_{view} {}

  results all() {
    results z{zeros(s_, o_.dresult.letters), zeros(s_, o_.query.letters), zeros(s_, o_.key.letters),
              zeros(s_, o_.value.letters), zeros(s_, o_.bias.letters)};
    for_each_index(s_, r_.of(attention_steps::row), [&](position const& at) { add(at, z); });
    return z;
  }

private:
  position seen(position at, extent memory) const {
    extent const query                      = at[static_cast<std::size_t>(r_.query)];
    at[static_cast<std::size_t>(r_.memory)] = memory;
    if (r_.distance >= 0) at[static_cast<std::size_t>(r_.distance)] = query - memory + s_.size(r_.memory) - 1;
    return at;
  }
  template<class F>
  void along(int letter, position& at, position& other, F const& f) const {
    for (extent k = 0; k < s_.size(letter); ++k) {
      at[static_cast<std::size_t>(letter)] = other[static_cast<std::size_t>(letter)] = k;
      f();
    }
  }
  bool is_seen(position const& at, position const& there, extent memory) const {
    extent const from = at[static_cast<std::size_t>(r_.query)] + view_.first;
    if (view_.causal && memory > from) return false;
    if (view_.reach > 0 && (memory - from >= view_.reach || from - memory >= view_.reach)) return false;
    return !r_.has_segments() || o_.query_segment(s_, at) == o_.memory_segment(s_, there);
  }
  void add(position at, results& z) const {
    extent const n = s_.size(r_.memory);
    std::vector<double> score(static_cast<std::size_t>(n), -std::numeric_limits<double>::infinity());
    double largest = score[0];
    double equals  = 0;
    for (extent m = 0; m < n; ++m) {
      position there = seen(at, m);
      if (!is_seen(at, there, m)) continue;
      double sum = r_.is_biased() ? o_.bias(s_, there) : 0;
      along(r_.depth, at, there, [&] { sum += o_.query(s_, at) * o_.key(s_, there); });
      score[static_cast<std::size_t>(m)] = sum;
      if (sum > largest) equals = 0;
      largest = std::max(largest, sum);
      if (sum == largest) ++equals;
    }
    if (equals == 0) return;  // it sees nothing
    double mean      = 0;
    auto const slope = [&](position& there) {
      double sum = 0;
      along(r_.width, at, there, [&] { sum += o_.dresult(s_, at) * o_.value(s_, there); });
      return sum;
    };
    auto const for_each_largest = [&](auto const& f) {
      for (extent m = 0; m < n; ++m)
        if (score[static_cast<std::size_t>(m)] == largest) {
          position there = seen(at, m);
          f(there);
        }
    };
    for_each_largest([&](position& there) { mean += slope(there) / equals; });
    for_each_largest([&](position& there) {
      double const ds = (slope(there) - mean) / equals;
      along(r_.width, at, there, [&] {
        z.result(s_, at) += o_.value(s_, there) / equals;
        z.dvalue(s_, there) += o_.dresult(s_, at) / equals;
      });
      along(r_.depth, at, there, [&] {
        z.dquery(s_, at) += ds * o_.key(s_, there);
        z.dkey(s_, there) += ds * o_.query(s_, at);
      });
      if (r_.is_biased()) z.dbias(s_, there) += ds;
    });
  }

  setting const& s_;
  attention_rule const& r_;
  operands const& o_;
  attention_view const& view_;
};

template<class Task>
shard scratch_for(task_loops const& loops) {
  auto const fullest = meshtf::plan_fullest<attention_steps>(loops);
  return shard(static_cast<std::size_t>(
                   meshtf::detail::scratch_elements<Task>(fullest, meshtf::kernel::thread_count())),
               unwritten);
}

void check_attention(counter& count, setting const& s, attention_rule const& r, attention_view const& view) {
  operands const o       = operands_of(s, r);
  results const expected = definition{s, r, o, view}.all();
  auto const query       = shards_of(s, o.query);
  auto const key         = shards_of(s, o.key);
  auto const value       = shards_of(s, o.value);
  auto const dresult     = shards_of(s, o.dresult);
  auto const bias        = shards_of(s, o.bias);
  auto const of_queries  = as_indices(shards_of(s, o.query_segment));
  auto const of_memory   = as_indices(shards_of(s, o.memory_segment));
  auto result            = unwritten_shards(s, o.dresult.letters);
  auto log_total         = unwritten_shards(s, r.of(attention_steps::row));
  auto dquery            = unwritten_shards(s, o.query.letters);
  auto dkey              = unwritten_shards(s, o.key.letters);
  auto dvalue            = unwritten_shards(s, o.value.letters);
  auto dbias             = unwritten_shards(s, o.bias.letters);
  auto const if_any      = [&](bool there, auto& all) { return there ? all.data() : nullptr; };
  task_loops const loops = r.steps.sized(s);
  using forward          = task::attend<double>;
  using backward         = task::attention_gradient<double>;
  shard scratch          = scratch_for<forward>(loops);
  shard more             = scratch_for<backward>(loops);
  for_each_plan<attention_steps>(
      s, r.steps, [&](std::size_t p, place_in_mesh const& here, auto const& steps) {
        meshtf::attention_arrays<double> const arrays{
            .query          = query[p].data(),
            .key            = key[p].data(),
            .value          = value[p].data(),
            .result         = result[p].data(),
            .log_total      = log_total[p].data(),
            .bias           = if_any(r.is_biased(), bias[p]),
            .query_segment  = if_any(r.has_segments(), of_queries[p]),
            .memory_segment = if_any(r.has_segments(), of_memory[p])};
        forward{.view = view, .scale = 1}.compute(steps, here, arrays, scratch.data());
        meshtf::attention_gradient_arrays<double> const gradients{.query     = arrays.query,
                                                                  .key       = arrays.key,
                                                                  .value     = arrays.value,
                                                                  .result    = result[p].data(),
                                                                  .log_total = log_total[p].data(),
                                                                  .dresult   = dresult[p].data(),
                                                                  .dquery    = dquery[p].data(),
                                                                  .dkey      = dkey[p].data(),
                                                                  .dvalue    = dvalue[p].data(),
                                                                  .bias      = arrays.bias,
                                                                  .dbias = if_any(r.is_biased(), dbias[p]),
                                                                  .query_segment  = arrays.query_segment,
                                                                  .memory_segment = arrays.memory_segment};
        backward{.wants = {true, true, true, r.is_biased()}, .view = view, .scale = 1}.compute(
            steps, here, gradients, more.data());
      });
  count.expect(equal(s, rounded(result), expected.result), "value", s);
  count.expect(equal(s, rounded(dquery), expected.dquery), "gradient of the queries", s);
  count.expect(equal(s, rounded(joined(s, dkey, r.memory_unreduced)), expected.dkey), "gradient of the keys",
               s);
  count.expect(equal(s, rounded(joined(s, dvalue, r.memory_unreduced)), expected.dvalue),
               "gradient of the values", s);
  if (r.is_biased())
    count.expect(equal(s, rounded(joined(s, dbias, r.bias_unreduced)), expected.dbias),
                 "gradient of the bias", s);
}

void check_attention(counter& count, setting const& placed, attention_rule const& r) {
  ++count.placements;
  dim_list sizes = r.of(attention_steps::row);
  if (!sizes.has(r.memory)) sizes.push_back(r.memory);
  auto const check = [&](setting s) {
    s.dim[static_cast<std::size_t>(r.depth)].size = 2;
    if (r.width != r.depth) s.dim[static_cast<std::size_t>(r.width)].size = 3;
    if (r.distance >= 0)
      s.dim[static_cast<std::size_t>(r.distance)].size = s.size(r.query) + s.size(r.memory) - 1;
    check_attention(count, s, r, {});
    check_attention(count, s, r, {.causal = true});
    check_attention(count, s, r, {.reach = 2});
    check_attention(count, s, r, {.causal = true, .reach = 3});
    if (r.distance < 0 && s.size(r.memory) > s.size(r.query))
      check_attention(count, s, r, {.causal = true, .first = s.size(r.memory) - s.size(r.query)});
  };
  for_each_size(placed, sizes, check, {1, 2, 5});
}
template<class Memory, class Q, class K, class V, class B = shape<>, class QS = shape<>, class MS = shape<>>
void check_everywhere(counter& count) {
  for_each_layout<meshtf::without<Q, shape<d>>>([&]<class L>(setting const& placed) {
    if constexpr (meshtf::split_over<L, shape<Memory>> == 0)
      check_attention(count, placed, attention<L, Memory, Q, K, V, B, QS, MS>());
  });
}

// rule attention: attention_plan.hpp attention_steps.hpp
// checks: values, and the gradients of queries, keys, values and a bias; a batch dimension that keys have or
// share, queries that are split; positions hidden by the causal mask, a window, a first position and segment
// ids, which a mask is written as; a bias of each score, or by distance. Not dropped weights sizes: 1, 2 and
// 5 operations: product/attention.hpp product/attention_terms.hpp
TEST_CASE("attention is its definition under every placement", "[verified]") {
  counter count{"attention"};
  check_everywhere<c, shape<a, b, d>, shape<a, c, d>, shape<a, c, e>>(count);
  check_everywhere<c, shape<a, b, d>, shape<c, d>, shape<c, d>>(count);
  check_everywhere<b, shape<b, a, d>, shape<b, a, d>, shape<b, a, d>>(count);
  check_everywhere<c, shape<a, b, d>, shape<a, c, d>, shape<a, c, d>, shape<b, c>, shape<a, b>, shape<a, c>>(
      count);
  check_everywhere<c, shape<a, b, d>, shape<c, d>, shape<c, d>, shape<f>, shape<b>, shape<c>>(count);
  count.compare_with_page(MESHTF_TESTS_FOLDER);
}

}  // namespace
