// Comparisons, under every layout.
// test: program ops2
#include <limits>

#include "../../layout_fixture.hpp"

using namespace fixture;

namespace {

constexpr auto comparisons = [](auto const& x, auto const& y) {
  return std::tuple{less(x, y),  less_equal(y, x), greater(x, y), greater_equal(x, y),
                    equal(x, x), not_equal(x, y),  less(x, 0),    less(0.5, y)};
};

/// Every comparison of these two numbers.
template<class T>
std::array<T, 6> compared(T x, T y) {
  auto& m = processes<single>();
  tensor<T, alone> a{m};
  tensor<T, alone> b{m};
  *a.data() = x;
  *b.data() = y;
  static_assert(std::same_as<decltype(less(a, b)), tensor<T, alone>> &&
                std::same_as<decltype(logical_not(a)), tensor<T, alone>> &&
                std::same_as<decltype(any(a)), tensor<T, alone>>);
  return {less(a, b).value(),          less_equal(a, b).value(), greater(a, b).value(),
          greater_equal(a, b).value(), equal(a, b).value(),      not_equal(a, b).value()};
}

}  // namespace

TEST_CASE("comparisons give 0 and 1") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1}};
    parameter<double, L, hidden> y{m, normal{2}};
    auto const all = comparisons(x, y);
    std::apply([&](auto const&... z) { (see(z), ...); }, all);
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  using six = std::array<double, 6>;
  CHECK(compared(1.0, 2.0) == six{1, 1, 0, 0, 0, 1});
  CHECK(compared(2.0, 2.0) == six{0, 1, 0, 1, 1, 0});
  CHECK(compared(3.0, 2.0) == six{0, 0, 1, 1, 0, 1});
  CHECK(compared(std::numeric_limits<double>::quiet_NaN(), 2.0) == six{0, 0, 0, 0, 0, 1});
  CHECK(compared(1, 2) == std::array{1, 1, 0, 0, 0, 1});
  CHECK(compared(2, 2) == std::array{0, 1, 0, 1, 1, 0});
}

TEST_CASE("comparisons have no gradient") {
  auto& m = processes<single>();
  if (boost::mpi::communicator{}.size() != 1) return;
  parameter<double, alone, hidden> x{m, normal{1}};
  CHECK(!less(x, 0).needs_gradient());
  CHECK(!greater(x, x).needs_gradient());
}
