// nn::attention: cross attention with terms of the memory, and incremental decoding with a cache.
// test: processes 1 2 3 4 6 8 10
#include "../layout_fixture.hpp"

#include <meshtf/nn/attention.hpp>

using namespace fixture;

namespace {

struct moment : dim<6> {};   // whole under every layout, as a cache wants its steps
struct moments : dim<8> {};  // all of `left`
struct step : dim<1> {};
struct prompt : dim<2> {};

/// All gradients, but for that of the keys' bias, which is 0 but for rounding: softmax does not see what all
/// keys share.
constexpr void see_gradients(value_recorder const& see, auto& attends) {
  meshtf::parameters(attends.query, attends.key.weight, attends.value, attends.output)
      .for_each([&](auto const& w) { see(finish(gradient(w))); });
}

inline void expect_rounding_only(double far) { CHECK(far < 1e-12); }

/// The numbers differ by rounding only.
template<class X>
constexpr void check_same(X const& x, X const& y) {
  auto const far = max(abs(x - y));
  if constexpr (!is_dry<typename X::layout_type>) expect_rounding_only(far.value());
}

}  // namespace

TEST_CASE("cross attention to a memory of its own length and width, with segments, a mask and dropout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::streams seeds{5};
    nn::attention<double, L, in, heads, key, length, memory, out> attends{m, seeds, 0.4, 0.4};
    parameter<double, L, batch, length, in> x{m, normal{4}};
    parameter<double, L, batch, memory, out> encoded{m, normal{6}};
    auto const sequence   = iota<int, L, batch>(m);
    auto const of_queries = floor_divide(iota<int, L, length>(m), 2);
    auto const of_memory  = floor_divide(iota<int, L, memory>(m) + 1, 3);
    auto const visible    = greater(broadcast<batch, memory>(sequence), iota<int, L, memory>(m));
    auto const all        = attends(x, encoded);
    auto const masked     = attends(x, encoded, with_mask(visible));
    auto const packed     = attends(x, encoded, with_segments(of_queries, of_memory).and_mask(visible));
    auto const dropped    = attends(x, encoded, {.dropout = 0.25, .random = {.seed = 7}});
    see(all);
    see(masked);
    see(packed);
    see(dropped);
    auto const one = all + masked;
    auto const two = packed + dropped;
    backward(sum(square(one + two)));
    see(finish(gradient(x)));
    see(finish(gradient(encoded)));
    see_gradients(see, attends);
  });
}

TEST_CASE(
    "attention where positions of queries and of the memory are split: the memory and its terms are "
    "gathered") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::streams seeds{5};
    nn::attention<double, L, in, plain_group, key, left, right, out> crosses{m, seeds, 0.4, 0.4};
    nn::attention<double, L, in, plain_group, key, left> attends{m, seeds, 0.4, 0.4};
    parameter<double, L, left, in> x{m, normal{4}};
    parameter<double, L, right, out> encoded{m, normal{6}};
    parameter<double, L, plain_group, right> bias{m, normal{8}};
    auto const here    = floor_divide(iota<int, L, left>(m), 3);
    auto const there   = floor_divide(iota<int, L, right>(m), 4);
    auto const visible = less(modulo(iota<int, L, right>(m), 3), 2);
    auto const y       = crosses(x, encoded, with_bias(bias).and_segments(here, there).and_mask(visible));
    auto const z       = attends(x, with_segments(here), {.causal = true, .window = 2});
    auto const both    = attends(x);
    see(y);
    see(z);
    see(both);
    auto const first = y + z;
    backward(sum(square(first + both)));
    see(finish(gradient(x)));
    see(finish(gradient(encoded)));
    see(finish(gradient(bias)));
    see_gradients(see, attends);
    see_gradients(see, crosses);
  });
}

TEST_CASE("decoding step by step with caches is the causal pass of the whole sequence") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    no_gradient const guard{m};
    nn::streams seeds{5};
    nn::attention<double, L, in, heads, key, moment> attends{m, seeds, 0.4, 0.4};
    nn::attention<double, L, in, heads, key, moment, memory, out> crosses{m, seeds, 0.4, 0.4};
    auto const x       = random_normal<double, L, batch, moment, in>(m, {.seed = 1});
    auto const encoded = random_normal<double, L, batch, memory, out>(m, {.seed = 2});
    auto const visible = less(iota<int, L, memory>(m), 3);
    auto const hidden  = greater(iota<int, L, moment>(m), 0);  // padding in front of the sequence
    auto const seen    = crosses.cache(encoded);
    auto const whole  = crosses(attends(x, with_mask(hidden), {.causal = true}), encoded, with_mask(visible));
    auto cache        = attends.template empty_cache<batch>(m);
    auto const decode = [&]<class Step>(shape<Step>, extent first) {
      auto const part = slice<moment, Step>(x, first);
      auto const y    = attends.template extend<Step>(part, cache, first, with_mask(hidden));
      auto const z    = crosses.template attend<Step>(y, seen, with_mask(visible));
      see(z);
      check_same(z, slice<moment, Step>(whole, first));
    };
    decode(shape<prompt>{}, 0);
    for (extent i = prompt::size; i < moment::size; ++i) decode(shape<step>{}, i);
  });
}

TEST_CASE("a cache is whole where the layout splits the positions") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    no_gradient const guard{m};
    nn::streams seeds{5};
    nn::self_attention<double, L, left, in, plain_group, key> attends{m, seeds, 0.4, 0.4};
    auto const x     = random_normal<double, L, left, in>(m, {.seed = 1});
    auto const all   = rename<left, moments>(x);
    auto const whole = rename<left, moments>(attends(x));
    auto cache       = attends.template empty_cache<>(m);
    for (extent i = 0; i < moments::size; ++i) {
      auto const z = attends.template extend<step>(slice<moments, step>(all, i), cache, i);
      see(z);
      check_same(z, slice<moments, step>(whole, i));
    }
  });
}

TEST_CASE("a step beyond the cache is an error", "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{5};
  nn::attention<double, alone, in, heads, key, moment> attends{m, seeds, 0.4, 0.4};
  auto cache   = attends.empty_cache<batch>(m);
  auto const x = random_normal<double, alone, batch, step, in>(m, {.seed = 1});
  CHECK_THROWS_AS(attends.extend<step>(x, cache, moment::size), software_error);
}

namespace {

struct first_length : dim<1> {};
struct first_memory : dim<3> {};
struct second_length : dim<3> {};
struct second_memory : dim<1> {};

template<class Length, class Memory>
using by_itself = nn::attention<double, alone, in, heads, key, Length, Memory, out>;

}  // namespace

TEST_CASE("packed sequences are the sequences by themselves: values and gradients", "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{5};
  nn::streams same{5};
  nn::streams also{5};
  by_itself<length, memory> packed{m, seeds, 0.4, 0.4};
  by_itself<first_length, first_memory> first{m, same, 0.4, 0.4};
  by_itself<second_length, second_memory> second{m, also, 0.4, 0.4};
  parameter<double, alone, batch, length, in> x{m, normal{4}};
  parameter<double, alone, batch, memory, out> encoded{m, normal{6}};
  auto const here  = cast<int>(greater_equal(iota<int, alone, length>(m), 1));
  auto const there = cast<int>(greater_equal(iota<int, alone, memory>(m), 3));
  auto const probe = random_normal<double, alone, batch, length, in>(m, {.seed = 9});
  auto const turn  = [&](auto const& z) {
    backward(sum(z * probe));
    std::tuple found{finish(gradient(x)), finish(gradient(encoded)), z.without_slot()};
    zero_gradients(parameters(x, encoded));
    return found;
  };
  auto const together = turn(packed(x, encoded, with_segments(here, there)));
  auto const one      = first(slice<length, first_length>(x, 0), slice<memory, first_memory>(encoded, 0));
  auto const other    = second(slice<length, second_length>(x, 1), slice<memory, second_memory>(encoded, 3));
  auto const apart    = turn(concat<length>(one, other));
  check_same(std::get<0>(together), std::get<0>(apart));
  check_same(std::get<1>(together), std::get<1>(apart));
  check_same(std::get<2>(together), std::get<2>(apart));
}

TEST_CASE("a mask of the memory is a shorter memory: values and gradients", "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{5};
  nn::streams same{5};
  by_itself<length, memory> masked{m, seeds, 0.4, 0.4};
  by_itself<length, first_memory> shorter{m, same, 0.4, 0.4};
  parameter<double, alone, batch, length, in> x{m, normal{4}};
  parameter<double, alone, batch, memory, out> encoded{m, normal{6}};
  auto const visible = less(iota<int, alone, memory>(m), 3);
  auto const y       = masked(x, encoded, with_mask(visible));
  backward(sum(square(y)));
  auto const of_x       = finish(gradient(x));
  auto const of_encoded = finish(gradient(encoded));
  zero_gradients(parameters(x, encoded));
  auto const z = shorter(x, slice<memory, first_memory>(encoded, 0));
  backward(sum(square(z)));
  check_same(y.without_slot(), z.without_slot());
  check_same(of_x, finish(gradient(x)));
  check_same(of_encoded, finish(gradient(encoded)));
}

TEST_CASE(
    "a query that sees nothing gets the bias of the projection back, and other queries are as without it",
    "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{5};
  by_itself<length, memory> attends{m, seeds, 0.4, 0.4};
  attends.output.bias = random_normal<double, alone, in>(m, {.seed = 3});
  auto const x        = random_normal<double, alone, batch, length, in>(m, {.seed = 1});
  auto const encoded  = random_normal<double, alone, batch, memory, out>(m, {.seed = 2});
  auto const nothing  = less(iota<int, alone, memory>(m), 0);
  auto const z        = attends(x, encoded, with_mask(nothing));
  check_same(z, broadcast<batch, length, in>(copy(attends.output.bias)));
}

TEST_CASE("names of the parameters are those of self-attention", "[1]") {
  auto& m = processes<single>();
  nn::streams seeds{5};
  by_itself<length, memory> attends{m, seeds, 0.4, 0.4};
  std::vector<std::string> names;
  attends.parameters().for_each_named([&](std::string const& name, auto const&) { names.push_back(name); });
  CHECK(names == std::vector<std::string>{"query.weight", "query.bias", "key.weight", "key.bias",
                                          "value.weight", "value.bias", "output.weight", "output.bias"});
}
