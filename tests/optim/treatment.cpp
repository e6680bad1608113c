// Parameters with rates of their own, masks for decay, and frozen parameters.
#include "model.hpp"

using namespace optim;

namespace {

/// The elements of AdamW with a rate and a decay.
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

template<class Optimizer, bool Sharded>
struct three_treated_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    model_of<double, L> net{m};
    Optimizer opt{0.02};
    opt.shard_state = Sharded;
    opt.max_norm    = 0.5;
    opt.treat(parameters(net.w, net.c), {.rate = 0.1});
    opt.treat(parameters(net.b, net.t), {.frozen = true});
    opt.treat(parameters(net.u), {.decays = false});
    auto const x = data_of<double, L>(m);
    for (int i = 0; i < 3; ++i) {
      auto const loss = net.loss(x);
      see(loss);
      backward(loss);
      opt.step(net.parameters());
      if (i == 1) opt.treat(parameters(net.b), {});
    }
    net.parameters().for_each([&see](auto& w) { see(w); });
  }
};

}  // namespace

TEST_CASE(
    "a group has its own rate, a mask its decay, and a frozen parameter keeps its values and its gradient "
    "does not count") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  parameter<double, alone, in, hidden> slow{m, normal{3}};
  parameter<double, alone, hidden> b{m, normal{2}};
  parameter<double, alone, hidden> still{m, normal{4}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  auto const y = random_normal<double, alone, in, hidden>(m, {.seed = 5});
  std::vector<by_hand> ws;
  std::vector<by_hand> bs;
  std::vector<by_hand> slows;
  std::vector<double> const kept{still.data(), still.data() + still.size};
  for (extent i = 0; i < w.size; ++i) {
    ws.push_back({w.data()[i]});
    slows.push_back({slow.data()[i]});
  }
  for (extent i = 0; i < b.size; ++i) bs.push_back({b.data()[i]});
  adamw opt{0.01, 0.1};
  opt.max_norm = 3;
  opt.treat(parameters(slow), {.rate = 7});
  opt.treat(parameters(slow, w), {.rate = 0.25, .decays = false});  // the last word counts
  opt.treat(parameters(w), {});
  opt.treat(parameters(b), {.decays = true});
  opt.treat(parameters(still), {.frozen = true});
  for (int t = 1; t <= 5; ++t) {
    backward(sum(square(w + b) * x) + sum(square(slow + still) * y));
    auto const gw  = finish(gradient(w));
    auto const gs  = finish(gradient(slow));
    auto const gb  = finish(gradient(b));
    double squares = 0;
    for (extent i = 0; i < w.size; ++i) squares += gw.data()[i] * gw.data()[i] + gs.data()[i] * gs.data()[i];
    for (extent i = 0; i < b.size; ++i) squares += gb.data()[i] * gb.data()[i];
    double const clip = std::min(1.0, 3 / std::sqrt(squares));
    for (extent i = 0; i < w.size; ++i)
      ws[static_cast<std::size_t>(i)].step(clip * gw.data()[i], t, 0.01, 0.1);
    for (extent i = 0; i < w.size; ++i)
      slows[static_cast<std::size_t>(i)].step(clip * gs.data()[i], t, 0.0025, 0);
    for (extent i = 0; i < b.size; ++i)
      bs[static_cast<std::size_t>(i)].step(clip * gb.data()[i], t, 0.01, 0.1);
    opt.step(parameters(w, b, slow, still));
    CHECK(!still.slot().sum);
  }
  double worst = 0;
  for (extent i = 0; i < w.size; ++i)
    worst = std::max(worst, std::abs(w.data()[i] - ws[static_cast<std::size_t>(i)].w));
  for (extent i = 0; i < w.size; ++i)
    worst = std::max(worst, std::abs(slow.data()[i] - slows[static_cast<std::size_t>(i)].w));
  for (extent i = 0; i < b.size; ++i)
    worst = std::max(worst, std::abs(b.data()[i] - bs[static_cast<std::size_t>(i)].w));
  CHECK(worst <= 1e-14);
  CHECK(std::equal(kept.begin(), kept.end(), still.data()));
}

TEST_CASE("a parameter that is listed twice is stepped once, clipped too") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> once{m, normal{1}};
  parameter<double, alone, in, hidden> twice{m, normal{1}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  lion one{0.01};
  lion two{0.01};
  one.max_norm = two.max_norm = 0.5;
  for (int t = 0; t < 3; ++t) {
    backward(sum(square(once) * x) + sum(square(twice) * x));
    one.step(parameters(once));
    two.step(parameters(twice, twice));
    CHECK(std::equal(once.data(), once.data() + once.size, twice.data()));
  }
}

TEST_CASE("treated parameters take the same steps under every layout") {
  check_program(three_treated_steps<adamw, true>{});
  check_program(three_treated_steps<lion, false>{});
}
