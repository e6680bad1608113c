// Momentum, Lion, Adam without bias correction and further schedules: as their formulas, and the same steps
// under every layout.
#include "model.hpp"

using namespace optim;

namespace {

/// Three steps of the optimizer that `Made` makes, sharded or clipped.
template<class Made, bool Sharded, bool Clipped>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    model_of<double, L> net{m};
    auto opt        = Made{}();
    opt.shard_state = Sharded;
    if (Clipped) opt.max_norm = 0.5;
    auto const x = data_of<double, L>(m);
    for (int i = 0; i < 3; ++i) {
      auto const loss = net.loss(x);
      see(loss);
      backward(loss);
      opt.step(net.parameters());
    }
    net.parameters().for_each([&see](auto& w) { see(w); });
  }
};

/// Five steps against a formula: state.step(w, gradient, step from 1, whether the parameter decays).
template<class State>
void check_formula(auto opt, double rate_change = 1) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  parameter<double, alone, hidden> b{m, normal{2}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  std::vector<State> states(static_cast<std::size_t>(w.size + b.size));
  std::vector<double> expected{w.data(), w.data() + w.size};
  expected.insert(expected.end(), b.data(), b.data() + b.size);
  auto const first_b = static_cast<std::size_t>(w.size);
  for (int t = 1; t <= 5; ++t) {
    auto const loss = sum(square(w + b) * x);
    backward(loss);
    auto const gw = finish(gradient(w));
    auto const gb = finish(gradient(b));
    for (std::size_t i = 0; i < states.size(); ++i)
      states[i].step(expected[i], i < first_b ? gw.data()[i] : gb.data()[i - first_b], t, opt, i < first_b);
    opt.step(parameters(w, b));
    opt.rate *= rate_change;
  }
  double worst = 0;
  for (std::size_t i = 0; i < states.size(); ++i)
    worst = std::max(worst, std::abs((i < first_b ? w.data()[i] : b.data()[i - first_b]) - expected[i]));
  CHECK(worst <= 1e-14);
}

struct momentum_by_hand {
  double v = 0;
  void step(double& w, double g, int, momentum const& o, bool) {
    v = o.mu * v + g;
    w -= o.rate * (o.nesterov ? g + o.mu * v : v);
  }
};
struct lion_by_hand {
  double m = 0;
  void step(double& w, double g, int, lion const& o, bool decays) {
    double const c    = o.beta1 * m + (1 - o.beta1) * g;
    double const sign = c == 0 ? 0 : std::copysign(1, c);
    w -= o.rate * (sign + (decays ? o.weight_decay * w : 0));
    m = o.beta2 * m + (1 - o.beta2) * g;
  }
};
/// Of Mesh TensorFlow, AdamWeightDecayOptimizer.
struct adam_by_hand {
  double m = 0;
  double v = 0;
  void step(double& w, double g, int, adamw const& o, bool decays) {
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    w -= o.rate * (m / (std::sqrt(v) + o.epsilon) + (decays ? o.weight_decay * w : 0));
  }
};

struct heavy {
  constexpr auto operator()() const { return momentum{0.02}; }
};
struct nesterov {
  constexpr auto operator()() const { return momentum{0.02, 0.8, true}; }
};
struct signs {
  constexpr auto operator()() const { return lion{0.01, 0.1}; }
};

}  // namespace

TEST_CASE("momentum, Nesterov's, Lion and Adam without bias correction step as their formulas do") {
  check_formula<momentum_by_hand>(momentum{0.01});
  check_formula<momentum_by_hand>(momentum{0.01, 0.7, true}, 0.5);
  check_formula<lion_by_hand>(lion{0.01, 0.1});
  adamw uncorrected{0.01, 0.1, 0.9, 0.999, 1e-6};
  uncorrected.bias_correction = false;
  check_formula<adam_by_hand>(std::move(uncorrected));
}

TEST_CASE("three steps are the same under every layout, sharded and clipped too") {
  check_program(three_steps<heavy, false, false>{});
  check_program(three_steps<nesterov, true, false>{});
  check_program(three_steps<nesterov, false, true>{});
  check_program(three_steps<signs, true, true>{});
}

TEST_CASE("schedules: inverse square root, warm-up and a stable rate with a decay, cosine with restarts") {
  static constexpr inverse_square_root root{.peak = 2, .warmup_steps = 4};
  static_assert(root(0) == 0.5 && root(3) == 2 && root(15) == 1 && root(63) == 0.5);
  static constexpr warmup_stable_decay stable{
      .peak = 2, .warmup_steps = 2, .decay_steps = 4, .total_steps = 10, .floor = 1};
  static_assert(stable(0) == 1 && stable(1) == 2 && stable(5) == 2 && stable(6) == 2 && stable(7) == 1.75 &&
                stable(9) == 1.25 && stable(10) == 1 && stable(1000) == 1);
  static constexpr cosine_restarts even{.peak = 2, .period = 10, .growth = 1, .floor = 1};
  static constexpr cosine_restarts growing{.peak = 2, .period = 4, .growth = 2};
  static_assert(even(0) == 2 && even(10) == 2 && even(1000000000000) == 2 && even(7) == even(27));
  static_assert(growing(0) == 2 && growing(4) == 2 && growing(12) == 2 && growing(28) == 2 &&
                growing(11) < 0.1 && growing(27) < 0.1);
  for (extent step = 0; step < 10; ++step)
    CHECK(std::abs(even(step) - (1 + 0.5 * (1 + std::cos(3.14159265358979323846 * static_cast<double>(step) /
                                                         10)))) <= 1e-15);
  for (extent step = 12; step < 28; ++step)
    CHECK(std::abs(growing(step) -
                   (1 + std::cos(3.14159265358979323846 * static_cast<double>(step - 12) / 16))) <= 1e-15);
}
