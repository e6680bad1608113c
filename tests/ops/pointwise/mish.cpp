// mish, under every layout, and against its formula in more digits, also far out and of what is not a number.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

long double tanh_of_softplus(long double x) { return std::tanh(std::log1p(std::exp(x))); }

}  // namespace

TEST_CASE("mish of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({-1, 0, 1});
  auto const z = mish(x);
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{-0.3034, 0, 0.8651});
  CHECK(rounded(slopes_of(x)) == list{0.0592, 0.6, 1.049});
}

TEST_CASE("mish of each element: nothing to reduce") {
  check_operation<shape<batch, hidden>>([](auto const& x) { return mish(x); });
  check_operation_in_float<shape<batch, hidden>>([](auto const& x) { return mish(x); });
}

TEST_CASE("mish and its slope lose no digits, and do not overflow") {
  if (boost::mpi::communicator{}.size() != 1) return;
  parameter<double, alone, batch, hidden> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i)
    x.data()[i] = -40 + 80 * static_cast<double>(i) / static_cast<double>(x.size - 1);
  x.data()[0]  = -std::numeric_limits<double>::infinity();  // times 0, as in PyTorch
  x.data()[1]  = std::numeric_limits<double>::quiet_NaN();
  x.data()[2]  = -1000;
  x.data()[3]  = 1000;
  auto const z = mish(x);
  backward(sum(z));
  auto const g = finish(gradient(x));
  CHECK(std::isnan(z.data()[0]));
  CHECK((std::isnan(z.data()[1]) && std::isnan(g.data()[1])));
  CHECK((z.data()[2] == 0 && g.data()[2] == 0));
  CHECK((z.data()[3] == 1000 && g.data()[3] == 1));
  for (extent i = 4; i < x.size; ++i) {
    long double const at    = x.data()[i];
    long double const t     = tanh_of_softplus(at);
    long double const slope = t + at * (1 - t * t) / (1 + std::exp(-at));
    INFO("at " << x.data()[i]);
    CHECK(std::abs(z.data()[i] - at * t) <= 1e-14L * std::abs(at * t));
    // where it crosses 0, near -1.19, only the difference of the terms is small
    CHECK(std::abs(g.data()[i] - slope) <= 1e-14L * (std::abs(slope) + std::abs(t)));
  }
}
