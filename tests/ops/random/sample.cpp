// Sampling: the same ids under every layout, drawn with the probabilities of the softmax.
// test: program ops2
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <meshtf/ops/random/sample.hpp>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct four : dim<4> {};
struct draws : dim<100000> {};
struct other_draws : dim<1000> {};

constexpr std::array<double, 4> weights{0.5, 2, -1, 1.5};

/// The same logits in every row.
template<class T, class Rows>
tensor<T, alone, Rows, four> rows_of(std::array<double, 4> const& logits) {
  tensor<T, alone, Rows, four> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<T>(logits[static_cast<std::size_t>(i % 4)]);
  return x;
}

template<class X>
std::array<double, 4> shares(X const& ids) {
  std::array<double, 4> times{};
  for (extent i = 0; i < ids.size; ++i)
    times.at(static_cast<std::size_t>(ids.data()[i])) += 1.0 / static_cast<double>(ids.size);
  return times;
}

}  // namespace

TEST_CASE("sample of literal numbers: at temperature 0 the index of the largest") {
  if (!on_one_process()) return;
  auto const logits = literal<duo, trio>({{0, 5, 1}, {7, 0, 0}});
  CHECK(numbers_of(sample<trio>(logits, {.seed = 1}, 0.0)) == list{1, 0});
}

TEST_CASE("sample draws the same ids under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, length, vocab>(m, {.seed = 3});
    see(sample<vocab>(x, {.seed = 1}, 1.0));
    see(sample<vocab>(x, {.seed = 1, .stream = 1}, 0.7));
    see(sample<batch>(x, {.seed = 2}, 3.0));
    see(sample<length>(x, {.seed = 2}, 1e-3));
    see(sample<vocab>(x, {.seed = 1}, 0.0));
    auto const y = random_normal<double, L, hidden>(m, {.seed = 4});
    see(sample<hidden>(y, {.seed = 1}, 2.0));
    see(sample<hidden>(y * 0, {.seed = 1}, 2.0));
  });
}

TEST_CASE("sample in single precision") {
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        auto const x = random_normal<float, L, batch, length, vocab>(m, {.seed = 3});
        for (int step = 0; step < 4; ++step)
          see(sample<vocab>(x, {.seed = 1, .stream = static_cast<std::uint64_t>(step)}, 0.8));
      },
      0);
}

TEST_CASE("a temperature of 0 takes the largest, and so does a very small one") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, vocab>(m, {.seed = 3}) * 1e3;
    see(sample<vocab>(x, {.seed = 1}, 0.0));
    see(sample<vocab>(x, {.seed = 1}, 1e-300));
    see(sample<vocab>(x, {.seed = 1}, std::numeric_limits<double>::denorm_min()));
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m      = processes<single>();
  auto const x = random_normal<double, alone, out, four>(m, {.seed = 3}) * 1e3;
  auto const z = argmax<four>(x);
  for (double temperature : {0.0, 1e-300, 1e-320}) {
    auto const drawn_ids = sample<four>(x, {.seed = 1}, temperature);
    for (extent i = 0; i < z.size; ++i) CHECK(drawn_ids.data()[i] == z.data()[i]);
  }
}

TEST_CASE("ids come as often as the softmax says", "[1]") {
  for (double const temperature : {0.5, 1.0, 2.0, 1e300}) {
    double total = 0;
    for (double w : weights) total += std::exp(w / temperature);
    auto const check = [&](auto const& ids) {
      auto const share = shares(ids);
      for (std::size_t k = 0; k < 4; ++k) {
        double const p = std::exp(weights[k] / temperature) / total;
        CAPTURE(temperature, k, p, share[k]);
        CHECK(std::abs(share[k] - p) <= 4 * std::sqrt(p * (1 - p) / 1e5));
      }
    };
    check(sample<four>(rows_of<double, draws>(weights), {.seed = 11}, temperature));
    check(sample<four>(rows_of<float, draws>(weights), {.seed = 12, .stream = 5}, temperature));
  }
}

TEST_CASE("keys draw different ids, and one key the same again", "[1]") {
  auto const x     = rows_of<double, other_draws>({0, 0, 0, 0});
  auto const alike = [&](random_key a, random_key b) {
    auto const p = sample<four>(x, a, 1.0);
    auto const q = sample<four>(x, b, 1.0);
    int same     = 0;
    for (extent i = 0; i < p.size; ++i) same += p.data()[i] == q.data()[i] ? 1 : 0;
    return same;
  };
  CHECK(alike({.seed = 1}, {.seed = 1}) == 1000);
  CHECK(std::abs(alike({.seed = 1}, {.seed = 2}) - 250) < 70);
  CHECK(std::abs(alike({.seed = 1}, {.seed = 1, .stream = 1}) - 250) < 70);
}

TEST_CASE("sample of logits that are not finite", "[1]") {
  double const infinity = std::numeric_limits<double>::infinity();
  auto const share =
      shares(sample<four>(rows_of<double, draws>({-infinity, 0, -infinity, 0}), {.seed = 1}, 0.9));
  CHECK((share[0] == 0 && share[2] == 0));
  CHECK(std::abs(share[1] - 0.5) < 0.01);
  CHECK(shares(sample<four>(rows_of<double, other_draws>({0, 0, infinity, 0}), {.seed = 1}, 1.5))[2] > 0.999);
  // both ends of what a uniform number can be
  for (double const u : {0.0, 0x1p-53, 1 - 0x1p-53})
    for (double const temperature : {1e-300, 1.0, 1e308})
      CHECK(std::isfinite(function::gumbel_score{temperature}(1.0, u)));
}

TEST_CASE("a temperature that is none is refused on all processes") {
  auto const refused = []<Layout L>(process_mesh<typename L::mesh_type>& m, double temperature) {
    tensor<float, L, batch, vocab> const x{m};
    CHECK_THROWS_WITH((sample<vocab>(x, {}, temperature)),
                      "expected a temperature of 0 or more, got " + std::to_string(temperature) +
                          ": 0 takes the likeliest, 1 draws with the model's own probabilities");
    CHECK_THROWS_AS((sample<vocab>(x, {}, temperature)), usage_error);
  };
  double const infinity = std::numeric_limits<double>::infinity();
  for (double const temperature :
       {-1.0, -1e-9, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    refused.operator()<alone>(processes<single>(), temperature);
    if (boost::mpi::communicator{}.size() == 4)
      refused.operator()<mixed>(processes<two_by_two>(), temperature);
  }
}

TEST_CASE("at a temperature of 0 sample costs what argmax costs, else the noise and a message of double more",
          "[1]") {
  constexpr auto cost = [](double temperature) {
    return [temperature]<Layout L>(machine<L>& m) {
      tensor<float, L, batch, vocab> const x{m};
      if (temperature < 0) (void)argmax<vocab>(x);
      else (void)sample<vocab>(x, {}, temperature);
    };
  };
  constexpr cost_summary largest{dry_run<model>(cost(-1))};
  constexpr cost_summary coldest{dry_run<model>(cost(0))};
  constexpr cost_summary warm{dry_run<model>(cost(1))};
  compare(coldest, largest, "a temperature of 0");
  CHECK(warm.count == 2);
  CHECK(warm.calls[0].payload == 2 * largest.calls[0].payload);
  CHECK(warm.calls[1] == largest.calls[1]);
  // the shard in float, its scores in double, and three numbers for each of 8 rows: the largest, its copy,
  // the id
  CHECK(warm.peak == 8 * 4 * 4 + 8 * 4 * 8 + 8 * (8 + 8 + 4));
}

TEST_CASE("sampling has no gradient", "[1]") {
  auto& m = processes<single>();
  parameter<double, alone, batch, vocab> const w{m, normal{1}};
  auto const before = m.tape_is_empty();
  auto const ids    = sample<vocab>(w, {.seed = 1}, 1.0);
  CHECK(!ids.needs_gradient());
  CHECK((before && m.tape_is_empty()));
}
