// AdamW, clipped and with its state sharded, and schedules: the same steps under every layout, at the price
// that was promised.
#include "model.hpp"

using namespace optim;

namespace {

enum class clipping { none, before_the_step, within_the_step };

// Compiled once for all ways to clip and shard.
template<class T, class Optimizer, Layout L>
constexpr void take_three_steps(machine<L>& m, value_recorder const& see, clipping how, bool sharded) {
  model_of<T, L> net{m};
  Optimizer opt{0.05};
  opt.shard_state = sharded;
  if (how == clipping::within_the_step) opt.max_norm = 0.5;
  auto const x = data_of<T, L>(m);
  warmup_cosine const schedule{.peak = 0.05, .warmup_steps = 1, .total_steps = 4};
  for (extent i = 0; i < 3; ++i) {
    auto const loss = net.loss(x);
    see(loss);
    backward(loss);
    if (how == clipping::before_the_step) see(clip_by_global_norm(net.parameters(), 0.5));
    opt.rate = schedule(i);
    opt.step(net.parameters());
  }
  net.parameters().for_each([&see](auto& w) { see(w); });
}

template<class Optimizer, clipping How, bool Sharded, class T = double>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    take_three_steps<T, Optimizer, L>(m, see, How, Sharded);
  }
};

/// The elements of AdamW as PyTorch's documentation writes it.
struct by_hand {
  double w;
  double m = 0;
  double v = 0;
  void step(double g, int t, double rate, double decay) {
    w *= 1 - rate * decay;
    m                      = 0.9 * m + (1 - 0.9) * g;
    v                      = 0.999 * v + (1 - 0.999) * g * g;
    double const corrected = std::sqrt(v) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8;
    w -= rate / (1 - std::pow(0.9, t)) * m / corrected;
  }
};

}  // namespace

TEST_CASE("AdamW steps as PyTorch's formula does; vectors do not decay unless they are asked to") {
  auto& m = processes<single>();
  for (int least : {2, 0, 3}) {
    parameter<double, alone, in, hidden> w{m, normal{1}};
    parameter<double, alone, hidden> b{m, normal{2}};
    auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
    std::vector<by_hand> expected_w;
    std::vector<by_hand> expected_b;
    for (extent i = 0; i < w.size; ++i) expected_w.push_back({w.data()[i]});
    for (extent i = 0; i < b.size; ++i) expected_b.push_back({b.data()[i]});
    adamw opt{0.01, 0.1};
    opt.decayed_rank = least;
    for (int t = 1; t <= 5; ++t) {
      auto const loss = sum(square(w + b) * x);
      backward(loss);
      auto const gw = finish(gradient(w));
      auto const gb = finish(gradient(b));
      for (extent i = 0; i < w.size; ++i)
        expected_w[static_cast<std::size_t>(i)].step(gw.data()[i], t, 0.01, least <= 2 ? 0.1 : 0);
      for (extent i = 0; i < b.size; ++i)
        expected_b[static_cast<std::size_t>(i)].step(gb.data()[i], t, 0.01, least <= 1 ? 0.1 : 0);
      opt.step(parameters(w, b));
    }
    double worst = 0;
    for (extent i = 0; i < w.size; ++i)
      worst = std::max(worst, std::abs(w.data()[i] - expected_w[static_cast<std::size_t>(i)].w));
    for (extent i = 0; i < b.size; ++i)
      worst = std::max(worst, std::abs(b.data()[i] - expected_b[static_cast<std::size_t>(i)].w));
    INFO("decay from rank " << least);
    CHECK(worst <= 1e-14);
  }
}

TEST_CASE("three steps of AdamW, not clipped and clipped, are the same under every layout") {
  check_program(three_steps<adamw, clipping::none, false>{});
  check_program(three_steps<adamw, clipping::before_the_step, false>{});
  check_program(three_steps<adamw, clipping::within_the_step, false>{});
}

TEST_CASE("so they are with the state sharded over the processes that hold the same") {
  check_program(three_steps<adamw, clipping::none, true>{});
  check_program(three_steps<adamw, clipping::before_the_step, true>{});
  check_program(three_steps<adamw, clipping::within_the_step, true>{});
}

TEST_CASE("clipping within the step and before it are one") {
  auto const before = run<alone>(three_steps<adamw, clipping::before_the_step, false>{});
  auto const within = run<alone>(three_steps<adamw, clipping::within_the_step, false>{});
  REQUIRE(before.all.size() == within.all.size() + 3);  // the norms
  for (std::size_t step : {1u, 3u, 5u}) CHECK(before.all[step].value[0] > 0.5);
  for (std::size_t i = 1; i <= 6; ++i)
    CHECK(before.all[before.all.size() - i].value == within.all[within.all.size() - i].value);
}

TEST_CASE("three steps of AdamW in single precision") {
  check_program_under_two(three_steps<adamw, clipping::before_the_step, false, float>{}, 1e-4);
  check_program_under_two(three_steps<adamw, clipping::within_the_step, true, float>{}, 1e-4);
}

TEST_CASE("the rate rises in a line, falls along a cosine and stays at its floor") {
  static constexpr warmup_cosine schedule{.peak = 2, .warmup_steps = 4, .total_steps = 104, .floor = 0.5};
  static_assert(schedule(0) == 0.5 && schedule(1) == 1 && schedule(3) == 2 && schedule(4) == 2);
  static_assert(schedule(104) == 0.5 && schedule(100000) == 0.5);
  static_assert(schedule(103) > 0.5 && schedule(103) < 0.501);
  static_assert(warmup_cosine{.peak = 3, .warmup_steps = 5, .total_steps = 5, .floor = 1}(4) == 3);
  static_assert(warmup_cosine{.peak = 3, .warmup_steps = 5, .total_steps = 2, .floor = 1}(5) == 1);
  for (extent step = 4; step < 104; ++step) {
    double const expected =
        0.5 + 1.5 * 0.5 * (1 + std::cos(3.14159265358979323846 * static_cast<double>(step - 4) / 100));
    CHECK(std::abs(schedule(step) - expected) <= 1e-15);
  }
}
