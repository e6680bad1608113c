// attention with shared keys, widths, windows, biases and segments: the same numbers as its composition,
// under every layout.
// test: program attention
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct moment : dim<6> {};  // whole everywhere, as attention wants its positions
struct past : dim<6> {};
struct source : dim<5> {};

using many = shape<moment, heads, key>;
using one  = shape<moment, key>;

constexpr double root_half = 0.70710678118654752440;  // 1 / sqrt(key::size)

struct each : dim<2> {};  // heads = group x each x ..., of which only group is in the keys
struct breadth : dim<3> {};
struct spans : dim<11> {};
struct moments : dim<8> {};  // all of `left`
struct longest : dim<15> {};

}  // namespace

TEST_CASE("attention of literal numbers with a bias, and with segments") {
  if (!on_one_process()) return;
  auto const q = literal<duo, key>({{0, 0}, {0, 0}});
  auto const k = literal<trio, key>({{1, 2}, {3, 4}, {5, 6}});
  auto const v = literal<trio, key>({{3, 0}, {0, 6}, {6, 3}});
  auto const b = literal<duo, trio>({{0, 0, 0}, {0, 0, std::log(2.0)}});  // weights 1/3 each; 1/4, 1/4, 1/2
  CHECK(rounded(numbers_of(attention<duo, trio, key>(q, k, v, with_bias(b)))) == list{3, 3, 3.75, 3});
  auto const segments = with_segments(integers<duo>({1, 2}), integers<trio>({1, 1, 2}));
  CHECK(rounded(numbers_of(attention<duo, trio, key>(q, k, v, segments))) == list{1.5, 3, 6, 3});
}

TEST_CASE(
    "heads that share keys, whose values have a width of their own: gradients of what is shared are added "
    "up") {
  // multi-query: the heads, which some layouts split, are in no key
  check_operation<many, one, shape<moment, breadth>>([](auto const& q, auto const& k, auto const& v) {
    return attention<moment, moment, key>(q, k, v, {.causal = true});
  });
  // grouped: the inner part of the heads is
  check_operation<shape<member, moment, each, key>, shape<source, member, key>, shape<source, member, key>>(
      [](auto const& q, auto const& k, auto const& v) { return attention<moment, source, key>(q, k, v); });
}

TEST_CASE("a window, at another position") {
  check_operation<many, many, many>([](auto const& q, auto const& k, auto const& v) {
    return attention<moment, moment, key>(q, k, v, {.causal = true, .window = 3});
  });
  check_operation<shape<source, heads, key>, many, many>([](auto const& q, auto const& k, auto const& v) {
    return attention<source, moment, key>(q, k, v, {.causal = true, .first = 1});
  });
}

TEST_CASE("a bias by distance, with and without segments") {
  check_operation<many, one, one, shape<heads, spans>>(
      [](auto const& q, auto const& k, auto const& v, auto const& b) {
        return attention<moment, moment, key>(q, k, v, with_bias(b));
      });
  check_operation<one, one, one, shape<spans>>(
      []<class X>(X const& q, auto const& k, auto const& v, auto const& b) {
        auto const ids = floor_divide(iota<int, typename X::layout_type, moment>(q.machine()), 4);
        return attention<moment, moment, key>(q, k, v, with_bias(b).and_segments(ids), {.causal = true});
      });
}

TEST_CASE("split queries attend to all keys, which are gathered") {
  // some layouts split the sequence `left`, all keep its other name whole
  check_operation<shape<left, key>, shape<left, key>, shape<left, key>>(
      [](auto const& q, auto const& k, auto const& v) {
        auto const all_keys   = rename<left, moments>(k);
        auto const all_values = rename<left, moments>(v);
        return std::tuple{
            attention<left, moments, key>(q, all_keys, all_values),
            attention<left, moments, key>(q, all_keys, all_values, {.causal = true}),
            attention<left, moments, key>(q, all_keys, all_values,
                                          {.causal = true, .window = 3, .dropout = 0.25, .random = {3}})};
      });
  check_operation<shape<left, plain_group, key>, shape<moments, key>, shape<moments, key>,
                  shape<plain_group, longest>>(
      []<class X>(X const& q, auto const& k, auto const& v, auto const& b) {
        auto const ids  = floor_divide(iota<int, typename X::layout_type, left>(q.machine()), 3);
        auto const keys = floor_divide(iota<int, typename X::layout_type, moments>(q.machine()), 3);
        return attention<left, moments, key>(q, k, v, with_bias(b).and_segments(ids, keys), {.causal = true});
      });
}

TEST_CASE("a bias for each score, and one for each position of the memory") {
  check_operation<many, shape<past, heads, key>, shape<past, heads, key>, shape<past, moment, heads>>(
      [](auto const& q, auto const& k, auto const& v, auto const& b) {
        return attention<moment, past, key>(q, k, v, with_bias(b));
      });
  check_operation<shape<left, key>, shape<moments, key>, shape<moments, key>, shape<left, moments>>(
      [](auto const& q, auto const& k, auto const& v, auto const& b) {
        return attention<left, moments, key>(q, k, v, with_bias(b),
                                             {.causal = true, .dropout = 0.25, .random = {3}});
      });
  check_operation<many, shape<past, key>, shape<past, key>, shape<heads, past>>(
      [](auto const& q, auto const& k, auto const& v, auto const& b) {
        return attention<moment, past, key>(q, k, v, with_bias(b));
      });
}

TEST_CASE("weights are dropped as dropout drops them, under every layout") {
  check_operation<shape<batch, moment, heads, key>, shape<batch, moment, heads, key>,
                  shape<batch, moment, heads, key>>([](auto const& q, auto const& k, auto const& v) {
    return attention<moment, moment, key>(q, k, v, {.causal = true, .dropout = 0.4, .random = {1, 2}});
  });
}

TEST_CASE("attention with shared keys, a window, segments, a bias and dropout is its composition") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, moment, heads, key> q{m, normal{1}};
    parameter<double, L, batch, moment, key> k{m, normal{2}};
    parameter<double, L, batch, moment, key> v{m, normal{3}};
    parameter<double, L, heads, spans> bias{m, normal{5}};
    auto const probe    = random_normal<double, L, batch, moment, heads, key>(m, {.seed = 4});
    auto const here     = iota<int, L, moment>(m);
    auto const there    = iota<int, L, past>(m);
    auto const sequence = iota<int, L, batch>(m);
    auto const ids      = less(broadcast<batch, moment>(sequence) + here, 5);
    auto const composed = [&] {
      auto const old_k    = rename<moment, past>(k);
      auto const old_v    = rename<moment, past>(v);
      auto const wide     = broadcast<moment, past>(here);
      auto const distance = wide - there;
      auto const added    = gather<spans>(bias, distance + 5);
      auto const scores   = einsum<batch, heads, moment, past>(q, old_k) * root_half +
                          broadcast<batch, heads, moment, past>(added);
      auto const near    = logical_and(greater_equal(distance, 0), less(distance, 3));
      auto const old_ids = rename<moment, past>(ids);
      auto const same   = equal(broadcast<batch, moment, past>(ids), broadcast<batch, moment, past>(old_ids));
      auto const seen   = logical_and(same, broadcast<batch, moment, past>(near));
      auto const masked = where(broadcast<batch, heads, moment, past>(seen), scores, -1e30);
      // draws follow from the order of dimensions: that of q, then the memory
      auto const weights = transpose<batch, moment, heads, past>(softmax<past>(masked));
      return einsum<batch, moment, heads, key>(dropout(weights, 0.3, {.seed = 9, .stream = 5}), old_v);
    };
    auto const turn = [&](auto const& f) {
      auto const z    = f();
      auto const loss = sum(z * probe);
      backward(loss);
      auto found = std::tuple{z.without_slot(), finish(gradient(q)), finish(gradient(k)), finish(gradient(v)),
                              finish(gradient(bias))};
      zero_gradients(parameters(q, k, v, bias));
      return found;
    };
    auto const a = turn([&] {
      return attention<moment, moment, key>(
          q, k, v, with_bias(bias).and_segments(ids),
          {.causal = true, .window = 3, .dropout = 0.3, .random = {.seed = 9, .stream = 5}});
    });
    auto const b = turn(composed);
    see(a);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto const one = [&](auto const& x, auto const& y) {
        auto const far = sum(square(x - y));
        if constexpr (!is_dry<L>) CHECK(far.value() < 1e-22);
      };
      (one(std::get<I>(a), std::get<I>(b)), ...);
    }(std::make_index_sequence<5>{});
  });
}
