// Decoding of language models with kept keys and values: the scores are those of a pass over all positions,
// the ids the same under every layout; rows end, and so do all; bad input.
#include "../layout_fixture.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <meshtf/nn/generation.hpp>
#include <meshtf/nn/positions.hpp>

using namespace fixture;

namespace {

struct best : dim<3> {};
struct couple : dim<2> {};
struct lone : dim<1> {};

struct learned : nn::transformer_dims<length, vocab, out, heads, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.5;
};
struct by_sinusoids : learned {
  using positions             = nn::sinusoids;
  static constexpr int layers = 1;
  static constexpr bool tied  = false;
};
struct of_llama : nn::llama_dims<length, vocab, out, heads, lone, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.5;
};

/// Ids that differ along both dimensions.
template<Layout L>
constexpr auto some_ids(machine<L>& m) {
  auto const across = broadcast<batch, length>(iota<int, L, batch>(m)) * 3;
  return modulo(across + iota<int, L, length>(m) * 5 + 1, 8);
}

template<class X>
constexpr auto position(X const& x, extent place) {
  return nn::detail::one_position<length, vocab>(x, place, std::source_location::current());
}

void check_within(double far, double largest, double within) {
  INFO("the largest difference " << far << ", the largest score " << largest);
  CHECK(far <= within * largest);
}

/// The largest difference is at most `within` of the largest score.
template<class X, class Y>
constexpr void expect_equal(X const& found, Y const& expected, double within) {
  auto const far     = max(abs(found - expected));
  auto const largest = max(abs(expected));
  if constexpr (!is_dry<typename X::layout_type>)
    check_within(static_cast<double>(far.value()), static_cast<double>(largest.value()), within);
}

/// Scores after the prompt and after each of two further positions, compared with those of a pass over all.
template<Layout L, class Net>
constexpr void compare_scores(Net const& net, machine<L>& m, value_recorder const& see, double within) {
  no_gradient const guard{m};
  auto const ids = some_ids<L>(m);
  auto const all = net(ids);
  auto read      = net.prefill(ids, 1);
  expect_equal(read.scores, position(all, 1), within);
  see(read.scores);
  for (extent i = 2; i < 4; ++i) {
    auto const next   = nn::detail::one_position<length, vocab>(ids, i, std::source_location::current());
    auto const scores = net.template extend<nn::next_position>(next, read.caches, i);
    expect_equal(scores, position(all, i), within);
    see(scores);
  }
}

/// What the likeliest ids are by a pass over all positions for each.
template<class Net, class Ids>
auto without_cache(Net const& net, Ids ids, extent known) {
  no_gradient const guard{ids.machine()};
  for (extent i = known; i < length::size; ++i) {
    auto const best_id = argmax<vocab>(position(net(ids), i - 1));
    ids                = write<length>(ids, best_id, i);
  }
  return ids;
}

}  // namespace

TEST_CASE("cached scores are those of all positions, of a transformer") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    compare_scores<L>(nn::transformer<double, L, learned>{m, 1}, m, see, 1e-12);
  });
}

TEST_CASE(
    "cached scores in single precision, with sinusoids and a softmax that is not tied, and of a llama") {
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        compare_scores<L>(nn::transformer<float, L, by_sinusoids>{m, 1}, m, see, 1e-5);
        compare_scores<L>(nn::llama<float, L, of_llama>{m, 1}, m, see, 1e-5);
      },
      1e-5);
}

TEST_CASE("generated ids are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    nn::transformer<double, L, learned> const net{m, 1};
    auto const ids = some_ids<L>(m);
    see(nn::generate(net, ids, {.prompt = 1, .length = 3, .choice = {.temperature = 0}}));
    see(nn::generate<best>(
        net, ids,
        {.prompt = 2, .length = 2, .choice = {.temperature = 1.2, .top_p = 0.9}, .random = {.seed = 5}}));
    see(nn::generate(net, ids, {.prompt = 2, .length = 1, .random = {.seed = 6}, .end = -1}));
    see(nn::generate(net, ids, {.prompt = 3, .length = 0}));
  });
}

namespace {

/// The likeliest ids and where rows end, in numbers that all processes know.
template<Layout L>
void check_ends(process_mesh<typename L::mesh_type>& m) {
  INFO("under " << name_of<L>());
  nn::transformer<double, L, learned> const net{m, 1};
  auto const ids        = some_ids<L>(m);
  auto const greedy     = nn::sampling{.temperature = 0};
  auto const likeliest  = to_global(without_cache(net, ids, 1));
  auto const found      = to_global(nn::generate(net, ids, {.prompt = 1, .length = 3, .choice = greedy}));
  constexpr auto rows   = static_cast<std::size_t>(batch::size);
  bool one_ends         = false;
  std::int32_t const id = likeliest(2, 1);
  auto const ended =
      to_global(nn::generate(net, ids, {.prompt = 1, .length = 3, .choice = greedy, .end = id}));
  for (std::size_t r = 0; r < rows; ++r) {
    bool after = false;
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(found(r, i) == likeliest(r, i));
      CHECK(ended(r, i) == (after ? 0 : likeliest(r, i)));
      after = after || (i > 0 && likeliest(r, i) == id);
    }
    one_ends = one_ends || after;
  }
  CHECK(one_ends);
  // where all rows have ended, nothing more is computed
  tensor<int, L, batch, length> const zeros{m};
  auto const steps = [&](std::int32_t end) {
    auto const cost = recorded<L>(m, [&]<Layout R>(machine<R>&) {
      (void)nn::generate(net, zeros, {.prompt = 1, .length = 3, .choice = greedy, .end = end});
    });
    return cost.flops();
  };
  auto const next = to_global(nn::generate(net, zeros, {.prompt = 1, .length = 1, .choice = greedy}))(0, 1);
  CHECK(steps(next) < steps(-1));
}

template<Layout L>
void check_refused(process_mesh<typename L::mesh_type>& m) {
  nn::transformer<double, L, learned> const net{m, 1};
  tensor<int, L, batch, length> const ids{m};
  auto const wants = [&](nn::generation const& options) { (void)nn::generate(net, ids, options); };
  CHECK_THROWS_WITH(wants({.prompt = 0, .length = 1}),
                    "expected a prompt of 1 to 4 ids, got 0: a model reads as many as it has positions");
  CHECK_THROWS_WITH(wants({.prompt = 5, .length = 1}),
                    "expected a prompt of 1 to 4 ids, got 5: a model reads as many as it has positions");
  CHECK_THROWS_WITH(wants({.prompt = 3, .length = 2}),
                    "expected 0 to 1 ids after a prompt of 3, got 2: the model has 4 positions");
  CHECK_THROWS_AS(wants({.prompt = 3, .length = 1, .choice = {.top_p = 2}}), usage_error);
}

}  // namespace

TEST_CASE("generated ids are the likeliest, rows end, and all end together", "[1]") {
  check_ends<alone>(processes<single>());
  check_refused<alone>(processes<single>());
}

TEST_CASE("rows end together where batch, heads and vocabulary are split", "[4]") {
  check_ends<mixed>(processes<two_by_two>());
  check_refused<mixed>(processes<two_by_two>());
}
