// How a next id is chosen: the same ids under every layout, as often as the softmax says, within the k
// likeliest and the nucleus; what it sends; bad input.
// test: program ops2
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <meshtf/nn/sampling.hpp>

#include "../layout_fixture.hpp"
#include "../literal.hpp"

using namespace fixture;

namespace {

struct six : dim<6> {};
struct best : dim<3> {};
struct draws : dim<10000> {};
using list_of_ids = std::vector<int>;

// softmax of these: 0.35, 0.25, 0.2, 0.1, 0.06, 0.04
constexpr std::array<double, 6> probability{0.1, 0.35, 0.04, 0.25, 0.06, 0.2};

template<class T>
tensor<T, alone, draws, six> rows_of_logits() {
  tensor<T, alone, draws, six> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i)
    x.data()[i] = static_cast<T>(std::log(probability[static_cast<std::size_t>(i % 6)]));
  return x;
}

/// How often each id comes in 10,000 draws.
template<class K = nn::ranked_ids<six>, class T = double>
std::array<double, 6> times_drawn(nn::sampling const& choice, random_key key) {
  auto const ids = nn::next_ids<six, K>(rows_of_logits<T>(), choice, key);
  std::array<double, 6> times{};
  for (extent i = 0; i < ids.size; ++i) times.at(static_cast<std::size_t>(ids.data()[i])) += 1;
  return times;
}

/// Chi-square of the draws against probability^(1 / temperature), of the ids that are kept alone.
double chi_square(std::array<double, 6> const& times, list_of_ids const& kept, double temperature = 1) {
  double total = 0;
  for (int id : kept) total += std::pow(probability[static_cast<std::size_t>(id)], 1 / temperature);
  double sum = 0;
  for (int id : kept) {
    auto const i          = static_cast<std::size_t>(id);
    double const expected = 1e4 * std::pow(probability[i], 1 / temperature) / total;
    sum += (times[i] - expected) * (times[i] - expected) / expected;
  }
  return sum;
}

double drawn_of(std::array<double, 6> const& times, list_of_ids const& kept) {
  double sum = 0;
  for (int id : kept) sum += times[static_cast<std::size_t>(id)];
  return sum;
}

// of chi-square with 5, 4, 3, 2 and 1 degrees of freedom: more comes once in a thousand
constexpr std::array<double, 6> bound{0, 10.83, 13.82, 16.27, 18.47, 20.52};

void check_draws(nn::sampling const& choice, list_of_ids const& kept) {
  auto const times = times_drawn(choice, {.seed = 21, .stream = kept.size()});
  CAPTURE(choice.temperature, choice.top_p, kept.size());
  CHECK(drawn_of(times, kept) == 1e4);
  CHECK(chi_square(times, kept, choice.temperature) < bound.at(kept.size() - 1));
}

}  // namespace

TEST_CASE("next ids of literal numbers: the likeliest, whatever else is kept") {
  if (!on_one_process()) return;
  auto const logits = literal<duo, trio>({{0, 5, 1}, {7, 0, 0}});
  CHECK(numbers_of(nn::next_ids<trio>(logits, {.temperature = 0}, {.seed = 1})) == list{1, 0});
  CHECK(numbers_of(nn::next_ids<trio>(logits, {.top_k = 1}, {.seed = 1})) == list{1, 0});
  CHECK(numbers_of(nn::next_ids<trio>(logits, {.top_p = 0.5}, {.seed = 1})) == list{1, 0});
  CHECK(numbers_of(nn::next_ids<trio>(logits, {.temperature = 0, .top_k = 2}, {.seed = 1})) == list{1, 0});
}

TEST_CASE("10,000 draws come as often as the softmax says (chi-square, once in a thousand)", "[1]") {
  check_draws({}, {0, 1, 2, 3, 4, 5});
  check_draws({.temperature = 0.5}, {0, 1, 2, 3, 4, 5});
  check_draws({.temperature = 2.5}, {0, 1, 2, 3, 4, 5});
  // without its restrictions, along another dimension, too
  CHECK(chi_square(times_drawn<nn::ranked_ids<six>>({.top_k = 6}, {.seed = 5}), {0, 1, 2, 3, 4, 5}) < 20.52);
}

TEST_CASE("top-k never leaves the k likeliest, and top-p not the nucleus", "[1]") {
  check_draws({.top_k = 2}, {1, 3});
  check_draws({.temperature = 1.5, .top_k = 4}, {0, 1, 3, 5});
  check_draws({.top_p = 0.7}, {1, 3, 5});  // 0.35 + 0.25 < 0.7
  check_draws({.top_p = 0.59}, {1, 3});    // 0.35 + 0.25 > 0.59
  check_draws({.top_p = 0.97}, {0, 1, 2, 3, 4, 5});
  check_draws({.top_k = 3, .top_p = 0.7}, {1, 3});  // of 0.8 they have 0.75
  // at a lower temperature the likeliest have more: squares of the probabilities, 0.1225 of 0.2402 is 0.51
  check_draws({.temperature = 0.5, .top_p = 0.7}, {1, 3});
  auto const of_three = times_drawn<best, float>({}, {.seed = 3});
  CHECK(drawn_of(of_three, {1, 3, 5}) == 1e4);
  CHECK(chi_square(of_three, {1, 3, 5}) < bound[2]);
}

TEST_CASE("one id alone is drawn always", "[1]") {
  CHECK(times_drawn({.top_k = 1}, {.seed = 4})[1] == 1e4);
  CHECK(times_drawn({.top_p = 1e-9}, {.seed = 4})[1] == 1e4);
  CHECK(times_drawn({.temperature = 1e-300, .top_k = 5, .top_p = 0.99}, {.seed = 4})[1] == 1e4);
}

TEST_CASE("the next ids are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, length, vocab>(m, {.seed = 3});
    see(nn::next_ids<vocab>(x, {}, {.seed = 1}));
    see(nn::next_ids<vocab>(x, {.temperature = 0, .top_p = 0.5}, {.seed = 1}));
    see(nn::next_ids<vocab>(x, {.temperature = 0.8, .top_k = 4}, {.seed = 1}));
    see(nn::next_ids<vocab>(x, {.temperature = 1.3, .top_p = 0.8}, {.seed = 2}));
    see(nn::next_ids<vocab, best>(x, {.top_k = 2, .top_p = 0.9}, {.seed = 2, .stream = 1}));
    auto const few = cast<float>(random_normal<double, L, hidden>(m, {.seed = 4}));
    see(nn::next_ids<hidden, best>(few, {.top_p = 0.6}, {.seed = 1}));
  });
}

TEST_CASE("what cannot be drawn from is refused on all processes") {
  auto const refused = []<Layout L>(process_mesh<typename L::mesh_type>& m) {
    tensor<float, L, batch, vocab> const x{m};
    auto const draw = [&](nn::sampling const& choice) { (void)nn::next_ids<vocab, best>(x, choice, {}); };
    CHECK_THROWS_WITH(
        draw({.temperature = -1}),
        "expected a temperature of 0 or more, got -1.000000: 0 takes the likeliest, 1 draws with "
        "the model's own probabilities");
    CHECK_THROWS_WITH(draw({.top_k = 0}),
                      "expected a top-k of 1 to 3, got 0: 1 takes the likeliest id; leave "
                      "it out to draw from all");
    CHECK_THROWS_WITH(draw({.top_k = 4}),
                      "expected a top-k of 1 to 3, got 4: 1 takes the likeliest id; leave "
                      "it out to draw from all");
    for (double const p : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
      CHECK_THROWS_WITH(draw({.top_p = p}), "expected a top-p above 0 and up to 1, got " + std::to_string(p) +
                                                ": it is a part of the probability, and 1 keeps all ids");
    CHECK_THROWS_AS(draw({.top_p = 0}), usage_error);
  };
  refused.operator()<alone>(processes<single>());
  if (boost::mpi::communicator{}.size() == 4) refused.operator()<mixed>(processes<two_by_two>());
}

TEST_CASE("what a draw sends: one pair for each row, with top-k the candidates of each part", "[1]") {
  constexpr auto cost = [](nn::sampling choice) {
    return [choice]<Layout L>(machine<L>& m) {
      tensor<float, L, batch, vocab> const x{m};
      (void)nn::next_ids<vocab, best>(x, choice, {});
    };
  };
  constexpr cost_summary greedy{dry_run<model>(cost({.temperature = 0}))};
  constexpr cost_summary ranked{dry_run<model>(cost({.temperature = 0.7, .top_k = 2, .top_p = 0.9}))};
  CHECK(greedy.count == 2);
  CHECK(greedy.calls[0].payload == 8 * 4);
  // 3 scores and 3 ids for each of 8 rows, from each part; nothing for the nucleus
  CHECK(ranked.count == 2);
  CHECK(ranked.calls[0].payload == 8 * 3 * 4);
  CHECK(ranked.calls[1].payload == 8 * 3 * 4);
}
