// Initialisers: the same values under every layout, with the mean, deviation and bounds that they promise.
// test: program nn
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

struct many : dim<400> {};
struct more : dim<250> {};

struct moments {
  double mean;
  double deviation;
  double most;
};

template<class Initialiser>
moments of(Initialiser const& initialiser) {
  parameter<double, alone, many, more> const w{processes<single>(), initialiser};
  double sum     = 0;
  double squares = 0;
  double most    = 0;
  for (extent i = 0; i < w.size; ++i) {
    double const x = w.data()[i];
    sum += x;
    squares += x * x;
    most = std::max(most, std::abs(x));
  }
  double const n    = static_cast<double>(w.size);
  double const mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean), most};
}

/// 100000 draws: within four standard errors.
void check(moments const& found, double deviation, double most) {
  INFO("mean " << found.mean << ", deviation " << found.deviation << ", most " << found.most);
  CHECK(std::abs(found.mean) < 4 * deviation / std::sqrt(1e5));
  CHECK(std::abs(found.deviation / deviation - 1) < 4 / std::sqrt(1e5));
  CHECK((found.most <= most && found.most > 0.99 * most));
}

// the standard deviation of a normal distribution between -2 and 2
constexpr double truncated = 0.87962566103423978;

}  // namespace

TEST_CASE("initial values are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(parameter<double, L, hidden, out>{m, truncated_normal{1, 0.5, 0.1}});
    see(parameter<double, L, batch, length, hidden>{m, uniform{2, -1, 3}});
    see(parameter<double, L, in, vocab>{m, variance_scaling{.seed = 3, .scale = 2, .mode = fan::average}});
    see(parameter<double, L, in, heads, key>{
        m, variance_scaling{.seed = 4, .mode = fan::out, .is_uniform = true, .in = 6, .out = 16}});
  });
}

TEST_CASE("they have the moments of their distributions") {
  if (boost::mpi::communicator{}.size() != 1) return;
  check(of(truncated_normal{1, 0.5}), 0.5 * truncated, 1);
  check(of(uniform{2, -3, 3}), 3 / std::sqrt(3.0), 3);
  check(of(variance_scaling{.seed = 3, .scale = 2}), truncated * std::sqrt(2.0 / 400),
        2 * std::sqrt(2.0 / 400));
  check(of(variance_scaling{.seed = 3, .mode = fan::out}), truncated / std::sqrt(250.0),
        2 / std::sqrt(250.0));
  check(of(variance_scaling{.seed = 4, .mode = fan::average, .is_uniform = true}), std::sqrt(1.0 / 325),
        std::sqrt(3.0 / 325));
  check(of(variance_scaling{.seed = 5, .in = 100}), truncated / 10, 0.2);
}
