// The error function, under every layout and against the standard library's.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("erf of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({-1, 0, 2});
  auto const z = erf(x);
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{-0.8427, 0, 0.9953});
  CHECK(rounded(slopes_of(x)) == list{0.4151, 1.1284, 0.0207});
}

TEST_CASE("erf of each element: nothing to reduce") {
  check_operation<shape<batch, hidden>>([](auto const& x) { return erf(x); });
  check_operation_in_float<shape<batch, hidden>>([](auto const& x) { return erf(x); });
}

TEST_CASE("erf is the standard library's, also far out and of what is not a number") {
  auto& m = processes<single>();
  tensor<double, alone, batch, hidden> x{m};
  for (extent i = 0; i < x.size; ++i)
    x.data()[i] = -6 + 12 * static_cast<double>(i) / static_cast<double>(x.size - 1);
  x.data()[0]  = -std::numeric_limits<double>::infinity();
  x.data()[1]  = std::numeric_limits<double>::quiet_NaN();
  auto const z = erf(x);
  CHECK(z.data()[0] == -1);
  CHECK(std::isnan(z.data()[1]));
  // xsimd is right to 8e-15
  for (extent i = 2; i < x.size; ++i) CHECK(std::abs(z.data()[i] - std::erf(x.data()[i])) <= 1e-14);
}
