// Dropout under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("dropout of literal numbers: what is kept is larger, and so is its gradient") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = dropout(x, 0.5, {.seed = 1});
  backward(sum(z));
  CHECK(numbers_of(z) == list{2, 4, 0, 8});
  CHECK(slopes_of(x) == list{2, 2, 0, 2});
  CHECK(numbers_of(dropout(x, 0, {.seed = 1})) == list{1, 2, 3, 4});
}

TEST_CASE("dropout: the same elements under every layout, forward and backward") {
  check_operation<shape<batch, hidden>, shape<batch, length, hidden>>([](auto const& x, auto const& y) {
    return std::tuple{dropout(x, 0.3, {.seed = 1}), dropout(x, 0.3, {.seed = 1, .stream = 1}),
                      dropout(y, 0.5, {.seed = 7}), dropout(x, 0, {})};
  });
}

TEST_CASE("dropout in single precision") {
  check_operation_in_float<shape<batch, hidden>>([](auto const& x) { return dropout(x, 0.1, {.seed = 1}); });
}

TEST_CASE("dropout drops its share and keeps the mean") {
  struct many : dim<100000> {};
  auto& m = processes<single>();
  tensor<float, alone, many> x{m};
  m.fill(x.size, 1.0f, x.data());
  for (double const rate : {0.0, 0.1, 0.5, 0.9}) {
    auto const z   = dropout(x, rate, {.seed = 5});
    double dropped = 0;
    double scaled  = 0;
    for (extent i = 0; i < z.size; ++i) {
      if (z.data()[i] == 0) dropped += 1;
      if (z.data()[i] == static_cast<float>(1 / (1 - rate))) scaled += 1;
    }
    CHECK(dropped + scaled == 1e5);
    CHECK(std::abs(dropped / 1e5 - rate) <= 5 * std::sqrt(rate * (1 - rate) / 1e5));
  }
  CHECK_THROWS_AS(dropout(x, 1.0, {}), software_error);
  CHECK_THROWS_AS(dropout(x, -0.1, {}), software_error);
  // what is dropped is 0, whatever it was
  m.fill(x.size, std::numeric_limits<float>::infinity(), x.data());
  auto const z = dropout(x, 0.5, {.seed = 5});
  for (extent i = 0; i < 100; ++i) CHECK_FALSE(std::isnan(z.data()[i]));
}
