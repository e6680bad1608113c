// Functions of two operands, or of an operand and a number, under every layout and against closed formulas,
// also of special values.
// test: program ops2
#include <cmath>
#include <limits>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

constexpr double inf          = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool same(double got, double want, double tolerance = 1e-14) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance * std::abs(want);
}

constexpr std::array numbers{0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 700.0, -700.0, inf, -inf, not_a_number};

/// f of every pair of these numbers, of two tensors and of a tensor and a number, is the expected one; so are
/// its gradients by both.
void check_pairs(auto const& f, auto const& expected, auto const& by_first, auto const& by_second,
                 double tolerance = 1e-14) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  for (double const a : numbers)
    for (double const b : numbers) {
      parameter<double, alone, hidden> x{m};
      parameter<double, alone, hidden> y{m};
      std::fill_n(x.data(), x.size, a);
      std::fill_n(y.data(), y.size, b);
      auto const z     = f(x, y);
      auto const left  = f(a, y);
      auto const right = f(x, b);
      auto const total = sum(z) + sum(left) + sum(right);
      backward(total);
      auto const dx = finish(gradient(x));
      auto const dy = finish(gradient(y));
      INFO("of " << a << " and " << b << ": " << std::as_const(z).data()[3] << ", "
                 << std::as_const(dx).data()[3] << ", " << std::as_const(dy).data()[3]);
      CHECK(same(std::as_const(z).data()[3], expected(a, b), tolerance));
      CHECK(same(std::as_const(left).data()[15], expected(a, b), tolerance));
      CHECK(same(std::as_const(right).data()[0], expected(a, b), tolerance));
      CHECK(same(std::as_const(dx).data()[3], 2 * by_first(a, b), 10 * tolerance));
      CHECK(same(std::as_const(dy).data()[3], 2 * by_second(a, b), 10 * tolerance));
    }
}

}  // namespace

TEST_CASE("functions of two operands of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 5, 3});
  auto const y = literal<trio>({4, 2, 2});
  backward(sum(maximum(x, y)));
  CHECK(numbers_of(maximum(x, y)) == list{4, 5, 3});
  CHECK(slopes_of(x) == list{0, 1, 1});
  CHECK(numbers_of(minimum(x, 2)) == list{1, 2, 2});
  CHECK(rounded(numbers_of(pow(x, y))) == list{1, 25, 9});
  CHECK(numbers_of(floor_divide(integers<trio>({7, -7, 6}), 2)) == list{3, -4, 3});
}

TEST_CASE("functions of two tensors, broadcast to one another, and of a tensor and a number") {
  check_operation<drawn{0, 2}, shape<batch, hidden>, shape<hidden>>([](auto const& x, auto const& b) {
    return std::tuple{minimum(x, b),
                      maximum(b, x),
                      maximum(x, 0.3),
                      minimum(0.2, b),
                      logaddexp(x, b),
                      logaddexp(b, -1),
                      sigmoid_cross_entropy(x, b),
                      sigmoid_cross_entropy(b, 0.25)};
  });
  check_operation<drawn{2, 0.2}, shape<batch, hidden>, shape<batch>>(
      [](auto const& x, auto const& b) { return std::tuple{pow(x, b), pow(b, x), pow(x, 3), pow(0.7, x)}; });
}

TEST_CASE("functions of two tensors that share no dimension, in double and in single precision") {
  check_operation<drawn{0, 2}, shape<batch>, shape<hidden>>(
      [](auto const& x, auto const& y) { return std::tuple{maximum(x, y), logaddexp(y, x)}; });
  check_operation_in_float<shape<batch, hidden>, shape<hidden>>([](auto const& x, auto const& b) {
    return std::tuple{minimum(x, b), logaddexp(x, b), sigmoid_cross_entropy(x, b), pow(exp(x), b)};
  });
}

TEST_CASE("functions with steps: integers, and what is true") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = cast<int>(10 * random_normal<double, L, batch, hidden>(m, {.seed = 3}));
    auto const y = cast<int>(3 * random_normal<double, L, hidden>(m, {.seed = 4}));  // some are 0
    see(floor_divide(x, y));
    see(modulo(x, y));
    see(modulo(y, x));
    see(floor_divide(x, 3));
    see(modulo(100, y));
    see(modulo(cast<std::int64_t>(x), -4));
    see(minimum(x, y));
    see(maximum(x, 2));
    see(logical_and(less(x, 4), less(y, 1)));
    see(logical_or(cast<bool>(x), cast<bool>(y)));
    see(logical_not(cast<bool>(y)));
    see(logical_not(cast<double>(y)));
  });
}

TEST_CASE("maximum and minimum: NaN is kept, also in the gradients, and a tie is halved") {
  auto const greater_part = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return not_a_number;
    return a == b ? 0.5 : a > b;
  };
  auto const less_part  = [&](double a, double b) { return greater_part(b, a); };
  auto const either_nan = [](double a, double b) { return std::isnan(a) || std::isnan(b); };
  check_pairs([](auto const& x, auto const& y) { return maximum(x, y); },
              [&](double a, double b) { return either_nan(a, b) ? not_a_number : std::max(a, b); },
              greater_part, less_part);
  check_pairs([](auto const& x, auto const& y) { return minimum(x, y); },
              [&](double a, double b) { return either_nan(a, b) ? not_a_number : std::min(a, b); }, less_part,
              greater_part);
}

TEST_CASE("a tie under broadcasting: each operand gets half of every element of dz") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, constant{3}};
    parameter<double, L, hidden> y{m, constant{3}};
    auto const loss = sum(maximum(x, y));
    backward(loss);
    see(finish(gradient(x)));  // 1/2
    see(finish(gradient(y)));  // 4, from 8 rows
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, batch, hidden> x{m};
  parameter<double, alone, hidden> y{m};
  auto const loss = sum(maximum(x, y));
  backward(loss);
  auto const dx = finish(gradient(x));
  auto const dy = finish(gradient(y));
  CHECK(dx.data()[77] == 0.5);
  CHECK(dy.data()[5] == 4);
}

TEST_CASE("pow is the standard library's, of 0, infinities and negative numbers too") {
  check_pairs([](auto const& x, auto const& y) { return pow(x, y); },
              [](double a, double b) { return std::pow(a, b); },
              [](double a, double b) { return b == 0 ? 0 : b * std::pow(a, b - 1); },
              [](double a, double b) { return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a); });
}

TEST_CASE("logaddexp of large numbers and infinities") {
  auto const part = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return not_a_number;
    return a == b ? 0.5 : 1 / (1 + std::exp(b - a));
  };
  auto const sum = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return not_a_number;
    return a == b ? a + std::log(2) : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  };
  check_pairs([](auto const& x, auto const& y) { return logaddexp(x, y); }, sum, part,
              [&](double a, double b) { return part(b, a); });
}

TEST_CASE("sigmoid cross entropy of large logits") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  tensor<double, alone, hidden> x{m};
  tensor<double, alone, hidden> y{m};
  for (extent i = 0; i < x.size; ++i) {
    x.data()[i] = 200.0 * static_cast<double>(i - 8);
    y.data()[i] = i % 2 == 0 ? 1 : 0.25;
  }
  auto const z = sigmoid_cross_entropy(x, y);
  for (extent i = 0; i < x.size; ++i) {
    double const a = x.data()[i];
    double const b = y.data()[i];
    CHECK(same(z.data()[i], (a > 0 ? a * (1 - b) : -a * b) + std::log1p(std::exp(-std::abs(a)))));
  }
}

TEST_CASE("division of integers rounds down and never traps") {
  using function::floor_divide, function::modulo;
  for (int const y : {-3, -2, -1, 1, 2, 3})
    for (int x = -7; x <= 7; ++x) {
      CHECK(floor_divide{}(x, y) == static_cast<int>(std::floor(double(x) / y)));
      CHECK(modulo{}(x, y) == x - y * floor_divide{}(x, y));
    }
  CHECK(floor_divide{}(5, 0) == 0);
  CHECK(modulo{}(5, 0) == 0);
  constexpr int smallest = std::numeric_limits<int>::min();
  CHECK(floor_divide{}(smallest, -1) == smallest);
  CHECK(modulo{}(smallest, -1) == 0);
  CHECK(floor_divide{}(smallest, 2) == smallest / 2);
}
