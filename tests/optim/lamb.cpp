// LAMB and LARS: as their formulas, and the same steps under every layout.
#include "model.hpp"

using namespace optim;

namespace {

/// A parameter by hand.
struct values {
  std::vector<double> w;
  std::vector<double> first;
  std::vector<double> second;
  bool adapts;

  values(auto const& x, bool a)
      : w(x.data(), x.data() + x.size), first(w.size()), second(w.size()), adapts(a) {}
  static double norm(std::vector<double> const& x) {
    double squares = 0;
    for (double const y : x) squares += y * y;
    return std::sqrt(squares);
  }

  void step(double const* g, int t, lamb const& o) {
    std::vector<double> u(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      first[i]  = o.beta1 * first[i] + (1 - o.beta1) * g[i];
      second[i] = o.beta2 * second[i] + (1 - o.beta2) * g[i] * g[i];
      u[i]      = first[i] / (1 - std::pow(o.beta1, t)) /
             (std::sqrt(second[i] / (1 - std::pow(o.beta2, t))) + o.epsilon);
      if (adapts) u[i] += o.weight_decay * w[i];
    }
    double const ratio = adapts && norm(w) > 0 && norm(u) > 0 ? norm(w) / norm(u) : 1;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= o.rate * ratio * u[i];
  }
  void step(double const* g, int, lars const& o) {
    double const gradient = norm({g, g + w.size()});
    double const weights  = norm(w);
    double const local =
        adapts && weights > 0 && gradient > 0 ? o.trust * weights / (gradient + o.weight_decay * weights) : 1;
    for (std::size_t i = 0; i < w.size(); ++i) {
      first[i] = o.mu * first[i] + o.rate * local * (g[i] + (adapts ? o.weight_decay * w[i] : 0));
      w[i] -= first[i];
    }
  }
};

void check_formula(auto opt) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  parameter<double, alone, in, hidden> zero{m};
  parameter<double, alone, hidden> b{m, normal{2}};
  auto const x = random_normal<double, alone, in, hidden>(m, {.seed = 3});
  values by_w{w, true};
  values by_zero{zero, true};
  values by_b{b, false};
  for (int t = 1; t <= 5; ++t) {
    backward(sum(square(w + b + zero) * x));
    by_w.step(finish(gradient(w)).data(), t, opt);
    by_zero.step(finish(gradient(zero)).data(), t, opt);
    by_b.step(finish(gradient(b)).data(), t, opt);
    opt.step(parameters(w, b, zero));
    opt.rate *= 0.5;
  }
  double worst       = 0;
  auto const compare = [&worst](auto const& got, values const& expected) {
    for (extent i = 0; i < got.size; ++i) {  // LARS without a ratio of norms takes long steps
      double const want = expected.w[static_cast<std::size_t>(i)];
      worst             = std::max(worst, std::abs(got.data()[i] - want) / (1 + std::abs(want)));
    }
  };
  compare(w, by_w);
  compare(zero, by_zero);
  compare(b, by_b);
  INFO("off by " << worst);
  CHECK(worst <= 1e-13);
}

template<class Optimizer, bool Sharded, bool Clipped>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    model_of<double, L> net{m};
    Optimizer opt{0.02};
    opt.shard_state  = Sharded;
    opt.decayed_rank = Sharded ? 0 : 2;
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

}  // namespace

TEST_CASE("LAMB and LARS step as their formulas do, from weights that are zeros too") {
  check_formula(lamb{0.01, 0.1});
  check_formula(lars{2, 0.1, 0.9, 0.05});
}

TEST_CASE("three steps of LAMB and LARS are the same under every layout, sharded and clipped too") {
  check_program(three_steps<lamb, false, false>{});
  check_program(three_steps<lamb, true, true>{});
  check_program(three_steps<lars, false, true>{});
  check_program(three_steps<lars, true, false>{});
}

TEST_CASE("without an epsilon LAMB leaves weights as they are whose gradients are 0") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> w{m, normal{1}};
  auto const before = to_global(w);
  tensor<double, alone, in, hidden> x{m};
  x.data()[0] = 1;
  lamb opt{0.1, 0, 0.9, 0.999, 0};
  backward(sum(w * x));
  opt.step(parameters(w));
  auto const after = to_global(w);
  CHECK(std::isfinite(after.flat(0)));
  CHECK(after.flat(0) != before.flat(0));
  for (std::size_t i = 1; i < after.size(); ++i) CHECK(after.flat(i) == before.flat(i));
}
