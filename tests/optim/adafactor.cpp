// Adafactor: as its formula, and the same steps under every layout.
#include "model.hpp"

using namespace optim;

namespace {

static_assert(detail::two_largest(std::array<extent, 4>{3, 5, 5, 2}) ==
              std::pair<std::size_t, std::size_t>{1, 2});
static_assert(detail::two_largest(std::array<extent, 2>{4, 4}) == std::pair<std::size_t, std::size_t>{0, 1});
static_assert(detail::two_largest(std::array<extent, 3>{9, 1, 7}) ==
              std::pair<std::size_t, std::size_t>{0, 2});

/// A parameter of the sizes a x b x c by hand: d0 and d1 are the numbers of its largest dimensions, or there
/// are no factors.
struct by_hand {
  std::array<std::size_t, 3> sizes;
  int d0;
  int d1;
  std::vector<double> w;
  std::vector<double> rows;
  std::vector<double> columns;
  std::vector<double> second;
  std::vector<double> first;

  by_hand(auto const& x, std::array<std::size_t, 3> s, int largest = -1, int next = -1)
      : sizes(s),
        d0(largest),
        d1(next),
        w(x.data(), x.data() + x.size),
        rows(w.size()),
        columns(w.size()),
        second(w.size()),
        first(w.size()) {}

  /// The mean over one dimension, repeated along it.
  std::vector<double> mean(std::vector<double> const& x, int along) const {
    std::size_t const n = sizes[static_cast<std::size_t>(along)];
    std::size_t stride  = 1;
    for (int d = 2; d > along; --d) stride *= sizes[static_cast<std::size_t>(d)];
    std::vector<double> means(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t const first_one = i - i / stride % n * stride;
      for (std::size_t k = 0; k < n; ++k) means[i] += x[first_one + k * stride] / static_cast<double>(n);
    }
    return means;
  }
  static double rms(std::vector<double> const& x) {
    double squares = 0;
    for (double const y : x) squares += y * y;
    return std::sqrt(squares / static_cast<double>(x.size()));
  }

  void step(double const* g, int t, adafactor const& o) {
    std::vector<double> g2(w.size());
    std::vector<double> x(g, g + w.size());
    for (std::size_t i = 0; i < w.size(); ++i) g2[i] = g[i] * g[i] + o.epsilon1;
    double rho = 1 - std::pow(t + 1, -0.8);
    // weights beta2^0, beta2^1, ... of the last square, the one before it and so on, which add up to 1
    if (o.beta2 > 0) {
      double earlier = 0;
      for (int i = 1; i <= t; ++i) earlier += std::pow(o.beta2, i);
      rho = o.bias_correction ? earlier / (1 + earlier) : o.beta2;
    }
    double lr = o.rate;
    if (o.rate < 0) lr = std::min(1 / std::sqrt(t + 1), 0.01) * (o.scaled_by_weights ? 1 : 0.05);
    double const by  = o.scaled_by_weights ? lr * std::max(rms(w), o.epsilon2) : lr;
    auto const blend = [rho](std::vector<double>& v, std::vector<double> const& now) {
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = rho * v[i] + (1 - rho) * now[i];
    };
    if (d0 >= 0) {
      blend(rows, mean(g2, d0));
      blend(columns, mean(g2, d1));
      auto const all = mean(rows, d1);
      for (std::size_t i = 0; i < w.size(); ++i) x[i] /= std::sqrt(rows[i] / all[i]) * std::sqrt(columns[i]);
    } else {
      blend(second, g2);
      for (std::size_t i = 0; i < w.size(); ++i) x[i] /= std::sqrt(second[i]);
    }
    double const clip = std::max(1.0, rms(x) / o.threshold);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double u = by * x[i] / clip;
      if (o.beta1 > 0) u = first[i] = o.beta1 * first[i] + (1 - o.beta1) * u;
      w[i] -= u;
    }
  }
};

void check_formula(adafactor opt) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  static_assert(in::size == 6 && out::size == 8 && hidden::size == 16);
  parameter<double, alone, in, out> w{m, normal{1}};
  parameter<double, alone, hidden, in, out> deep{m, normal{4}};
  parameter<double, alone, out> b{m, normal{2}};
  parameter<double, alone> t{m, constant{2}};
  auto const x    = random_normal<double, alone, hidden, in, out>(m, {.seed = 3});
  auto const hand = [&opt](auto const& p, std::array<std::size_t, 3> sizes, int d0 = -1, int d1 = -1) {
    bool const factored =
        d1 >= 0 && static_cast<extent>(sizes[static_cast<std::size_t>(d1)]) >= opt.least_factored;
    return factored ? by_hand{p, sizes, d0, d1} : by_hand{p, sizes};
  };
  auto by_w    = hand(w, {1, 6, 8}, 2, 1);
  auto by_deep = hand(deep, {16, 6, 8}, 0, 2);
  auto by_b    = hand(b, {1, 1, 8});
  auto by_t    = hand(t, {1, 1, 1});
  for (int step = 0; step < 5; ++step) {
    backward(sum(square(deep + w * t + b) * x));
    by_w.step(finish(gradient(w)).data(), step, opt);
    by_deep.step(finish(gradient(deep)).data(), step, opt);
    by_b.step(finish(gradient(b)).data(), step, opt);
    by_t.step(finish(gradient(t)).data(), step, opt);
    opt.step(parameters(w, deep, b, t));
  }
  double worst       = 0;
  auto const compare = [&worst](auto const& got, by_hand const& expected) {
    for (extent i = 0; i < got.size; ++i)
      worst = std::max(worst, std::abs(got.data()[i] - expected.w[static_cast<std::size_t>(i)]));
  };
  compare(w, by_w);
  compare(deep, by_deep);
  compare(b, by_b);
  compare(t, by_t);
  CHECK(worst <= 1e-13);
}

template<bool Averaged, extent Least>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    model_of<double, L> net{m};
    adafactor opt;
    opt.least_factored = Least;
    if (Averaged) {
      opt.rate  = 0.02;
      opt.beta1 = 0.9;
    }
    opt.treat(parameters(net.b), {.rate = 3});
    opt.treat(parameters(net.v), {.frozen = true});
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

TEST_CASE("Adafactor steps as its formula does, with and without factors") {
  for (extent least : {2, 7, 128}) {
    INFO("factored from " << least);
    adafactor opt;
    opt.least_factored = least;
    check_formula(std::move(opt));
    adafactor averaged{0.03};
    averaged.least_factored    = least;
    averaged.beta1             = 0.9;
    averaged.scaled_by_weights = false;
    averaged.threshold         = 0.5;
    check_formula(std::move(averaged));
    adafactor as_adam;
    as_adam.least_factored = least;
    as_adam.beta2          = 0.9;
    check_formula(std::move(as_adam));
    adafactor constant;
    constant.least_factored  = least;
    constant.beta2           = 0.9;
    constant.bias_correction = false;
    check_formula(std::move(constant));
  }
}

TEST_CASE("three steps of Adafactor are the same under every layout") {
  check_program(three_steps<false, 2>{});
  check_program(three_steps<true, 7>{});
}
