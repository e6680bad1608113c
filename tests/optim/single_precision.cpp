// Steps in single precision are those in double precision, rounded: no constant of an optimizer loses digits
// before it is used.
#include "model.hpp"

using namespace optim;

namespace {

/// Weights after `steps` steps with gradients that are the same floats in both precisions. The weights begin
/// as 0 for `from` 0.
template<class T>
std::vector<double> trained(auto opt, int steps, double from, double gradients) {
  auto& m = processes<single>();
  parameter<T, alone, in, hidden> w{m, normal{1, from}};
  tensor<T, alone, in, hidden> g{m};
  if (from > 0)
    for (extent i = 0; i < w.size; ++i) w.data()[i] = static_cast<T>(static_cast<float>(w.data()[i]));
  for (int t = 0; t < steps; ++t) {
    for (extent i = 0; i < g.size; ++i)
      g.data()[i] = static_cast<T>(
          static_cast<float>(gradients * (1 + 0.5 * std::sin(0.7 * t + static_cast<double>(i)))));
    backward(sum(w * g));
    opt.step(parameters(w));
  }
  if constexpr (requires { opt.exchange(parameters(w)); }) opt.exchange(parameters(w));
  return {w.data(), w.data() + w.size};
}

/// The largest difference between the two precisions, relative to the largest weight.
double distance(auto const& make, int steps, double from = 0, double gradients = 1) {
  auto const expected = trained<double>(make(), steps, from, gradients);
  auto const got      = trained<float>(make(), steps, from, gradients);
  double worst        = 0;
  double largest      = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst   = std::max(worst, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / largest;
}

bool on_one_process() { return boost::mpi::communicator{}.size() == 1; }

}  // namespace

TEST_CASE("the first step of Adam in single precision is the rate, for any decay rates") {
  if (!on_one_process()) return;
  auto& m = processes<single>();
  for (double const beta2 : {0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999})
    for (double const beta1 : {0.0, 0.3, 0.9, 0.99}) {
      parameter<float, alone, hidden> w{m, zeros{}};
      adam opt{0.1, beta1, beta2};
      backward(sum(w));
      opt.step(parameters(w));
      CAPTURE(beta1, beta2, w.data()[0]);
      CHECK(std::abs(static_cast<double>(w.data()[0]) + 0.1) <= 3e-8);
    }
}

TEST_CASE("three steps in single precision are those in double precision to 2e-7 of the weights") {
  if (!on_one_process()) return;
  CHECK(distance([] { return adam{0.1}; }, 3) <= 2e-7);
  CHECK(distance([] { return adam{0.1, 0.9, 0.9999}; }, 3) <= 2e-7);
  CHECK(distance([] { return adam{0.1, 0.0, 0.3}; }, 3) <= 2e-7);
  CHECK(distance([] { return adamw{0.1, 0.1, 0.9, 0.9999}; }, 3, 1) <= 2e-7);
  CHECK(distance([] { return lamb{0.1, 0.1, 0.9, 0.9999}; }, 3, 1) <= 2e-7);
  CHECK(distance([] { return lion{0.1, 0.1}; }, 3, 1) <= 2e-7);
  CHECK(distance([] { return lars{1, 1e-2}; }, 3, 1) <= 2e-7);
  CHECK(distance([] { return momentum{0.1}; }, 3) <= 2e-7);
  CHECK(distance([] { return momentum{0.1, 0.9, true}; }, 3) <= 2e-7);
  CHECK(distance([] { return sgd{0.1}; }, 3) <= 2e-7);
  CHECK(distance([] { return averaged<sgd>{0.9999, 0.1}; }, 3) <= 2e-7);
  for (extent const least : {2, 128}) {
    auto const make = [least](double beta1) {
      return [=] {
        adafactor opt{0.1};
        opt.least_factored    = least;
        opt.beta1             = beta1;
        opt.beta2             = 0.9999;
        opt.scaled_by_weights = false;
        return opt;
      };
    };
    CHECK(distance(make(0), 3) <= 3e-7);
    CHECK(distance(make(0.999), 3) <= 3e-7);
  }
}

TEST_CASE("so are the running means after thousands of steps, where they are as large as what they average") {
  if (!on_one_process()) return;
  CHECK(distance([] { return adam{0.1, 0.9, 0.9999}; }, 3000) <= 5e-6);
  // the average of weights that stay what they are
  CHECK(distance([] { return averaged<sgd>{0.9999, 0.0}; }, 3000, 1) <= 2e-6);
}

TEST_CASE("a decay of less than the last digit of 1 is not rounded to it or away") {
  if (!on_one_process()) return;
  // 1 - 3e-8 is 1 - 6e-8 in single precision
  CHECK(distance([] { return adamw{1e-4, 3e-4}; }, 2000, 1) <= 1e-5);
}
