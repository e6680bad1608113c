// Functions of each element, under every layout, and against the standard library's, also of special values.
// test: program ops2
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// f of these numbers, in batches and one by one. Denormal results may be 0: with AVX2 those of exp are.
template<class T, std::size_t N, class F>
void check_values(std::array<double, N> const& numbers, F const& f, auto const& expected, double tolerance) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  tensor<T, alone, batch, hidden> x{m};
  static_assert(N <= 128);
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<T>(numbers[static_cast<std::size_t>(i) % N]);
  auto const z = f(x);
  for (extent i = 0; i < x.size; ++i) {
    double const given = static_cast<double>(x.data()[i]);
    double const got   = static_cast<double>(z.data()[i]);
    double const want  = static_cast<double>(static_cast<T>(expected(given)));
    INFO("of " << given << ": got " << got << ", expected " << want);
    if (std::isnan(want)) CHECK(std::isnan(got));
    else if (std::isinf(want) || want == 0) CHECK((got == want && std::signbit(got) == std::signbit(want)));
    else
      CHECK(std::abs(got - want) <=
            std::max(tolerance * std::abs(want), static_cast<double>(std::numeric_limits<T>::min())));
  }
}
template<std::size_t N, class F>
void check_values(std::array<double, N> const& numbers, F const& f, auto const& expected) {
  check_values<double>(numbers, f, expected, 1e-14);
  check_values<float>(numbers, f, expected, 2e-6);
  check_values<bfloat16>(numbers, f, expected, 0.008);
}

/// The derivative of f at these numbers.
template<std::size_t N, class F>
void check_slopes(std::array<double, N> const& numbers, F const& f, auto const& expected) {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  parameter<double, alone, hidden> x{m};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = numbers[static_cast<std::size_t>(i) % N];
  auto const loss = sum(f(x));
  backward(loss);
  auto const g = finish(gradient(x));
  for (extent i = 0; i < x.size; ++i) {
    double const given = x.data()[i];
    double const got   = std::as_const(g).data()[i];
    double const want  = expected(given);
    INFO("slope at " << given << ": got " << got << ", expected " << want);
    if (std::isnan(want)) CHECK(std::isnan(got));
    else CHECK((got == want || std::abs(got - want) <= 1e-13 * std::abs(want)));
  }
}

constexpr std::array special{0.0,  -0.0, 1.0,   -1.0, 0.5,   -0.5, 1.5,  2.5,
                             -2.5, 3.75, -4.25, 20.0, -20.0, inf,  -inf, nan};
constexpr std::array usual{0.0, 0.001953125, -0.001953125, 1.0,   -1.0, 0.5,  -0.5, 1.5,
                           2.5, -2.5,        3.75,         -4.25, 9.0,  -9.0, 7.0,  -7.0};

}  // namespace

TEST_CASE("functions of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({-1.5, 0, 2});
  backward(sum(leaky_relu(x, 0.5)));
  CHECK(slopes_of(x) == list{0.5, 0.5, 1});
  CHECK(numbers_of(leaky_relu(x, 0.5)) == list{-0.75, 0, 2});
  CHECK(numbers_of(abs(x)) == list{1.5, 0, 2});
  CHECK(numbers_of(sign(x)) == list{-1, 0, 1});
  CHECK(numbers_of(floor(x)) == list{-2, 0, 2});
  CHECK(numbers_of(clamp(x, -1, 1)) == list{-1, 0, 1});
  CHECK(rounded(numbers_of(sin(x))) == list{-0.9975, 0, 0.9093});
}

TEST_CASE("smooth functions of each element: nothing to reduce") {
  check_operation<drawn{0, 2}, shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{sin(x), cos(x), expm1(x), silu(x), softplus(x), gelu_erf(x)}; });
  check_operation<drawn{2, 0.2}, shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{log1p(x), reciprocal(x)}; });
}

TEST_CASE("functions with a bend: nothing to reduce") {
  check_operation<drawn{0, 2}, shape<batch, hidden>>([](auto const& x) {
    return std::tuple{
        abs(x), elu(x), elu(x, 0.5), selu(x), leaky_relu(x), leaky_relu(x, 0.2), clamp(x, -0.7, 0.9)};
  });
}

TEST_CASE("functions with steps have no gradient") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1, 3.0}};
    auto const see_data = [&](auto const& z) {
      see(z);
      if (z.needs_gradient()) throw software_error("this function has no gradient");
    };
    see_data(floor(x));
    see_data(ceil(x));
    see_data(round(x));
    see_data(sign(x));
    see_data(is_nan(x));
    see(clamp(cast<int>(x), -1, 2));
    see(abs(cast<int>(x)));
    see(sign(cast<std::int64_t>(x)));
  });
}

TEST_CASE("functions of each element in single precision") {
  check_operation_in_float<shape<batch, hidden>>([](auto const& x) {
    return std::tuple{sin(x), silu(x), softplus(x), gelu_erf(x), elu(x), selu(x), clamp(x, -0.5, 1)};
  });
}

TEST_CASE("special values are those of the standard library") {
  check_values(special, [](auto const& x) { return sin(x); }, [](double x) { return std::sin(x); });
  check_values(special, [](auto const& x) { return cos(x); }, [](double x) { return std::cos(x); });
  check_values(special, [](auto const& x) { return expm1(x); }, [](double x) { return std::expm1(x); });
  check_values(special, [](auto const& x) { return log1p(x); }, [](double x) { return std::log1p(x); });
  check_values(special, [](auto const& x) { return reciprocal(x); }, [](double x) { return 1 / x; });
  check_values(special, [](auto const& x) { return abs(x); }, [](double x) { return std::abs(x); });
  check_values(
      special, [](auto const& x) { return sign(x); },
      [](double x) { return x == 0 || std::isnan(x) ? x : std::copysign(1, x); });
  check_values(special, [](auto const& x) { return floor(x); }, [](double x) { return std::floor(x); });
  check_values(special, [](auto const& x) { return ceil(x); }, [](double x) { return std::ceil(x); });
  // 0.5 to 0, 1.5 and 2.5 to 2
  check_values(special, [](auto const& x) { return round(x); }, [](double x) { return std::nearbyint(x); });
  check_values(
      special, [](auto const& x) { return is_nan(x); }, [](double x) { return std::isnan(x) ? 1 : 0; });
  check_values(
      special, [](auto const& x) { return clamp(x, -1.5, 2.25); },
      [](double x) { return std::isnan(x) ? x : std::clamp(x, -1.5, 2.25); });
  check_values(
      special, [](auto const& x) { return leaky_relu(x, 0.25); },
      [](double x) { return x > 0 ? x : 0.25 * x; });
  check_values(
      special, [](auto const& x) { return elu(x, 2); },
      [](double x) { return x > 0 ? x : 2 * std::expm1(x); });
  check_values(
      special, [](auto const& x) { return selu(x); },
      [](double x) {
        return x > 0 ? 1.0507009873554805 * x : 1.0507009873554805 * 1.6732632423543772 * std::expm1(x);
      });
  check_values(
      special, [](auto const& x) { return softplus(x); },
      [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
  check_values(usual, [](auto const& x) { return silu(x); }, [](double x) { return x / (1 + std::exp(-x)); });
  check_values<double>(
      usual, [](auto const& x) { return gelu_erf(x); },
      [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, 4e-12);
}

TEST_CASE("large arguments") {
  constexpr std::array large{1e3,    -1e3,  1e5,    -1e5, 1e22,  1e300, -1e300, 745.0,
                             -745.0, 710.0, -710.0, 88.0, -88.0, 40.0,  -40.0,  1e-300};
  check_values<double>(
      large, [](auto const& x) { return sin(x); }, [](double x) { return std::sin(x); }, 1e-13);
  check_values<double>(
      large, [](auto const& x) { return cos(x); }, [](double x) { return std::cos(x); }, 1e-13);
  check_values<double>(
      large, [](auto const& x) { return softplus(x); },
      [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, 1e-14);
  check_values<double>(
      large, [](auto const& x) { return silu(x) + 0; },
      [](double x) { return x < -700 ? 0.0 : x / (1 + std::exp(-x)); }, 1e-14);
  check_slopes(
      large, [](auto const& x) { return silu(x); },
      [](double x) {
        double const s = 1 / (1 + std::exp(-x));
        return x < -700 ? 0 : s + x * s * (1 / (1 + std::exp(x)));
      });
  check_slopes(
      large, [](auto const& x) { return softplus(x); },
      [](double x) { return x < -700 ? 0 : 1 / (1 + std::exp(-x)); });
}

TEST_CASE("gradients where a function bends, and at its bounds") {
  check_slopes(
      special, [](auto const& x) { return abs(x); },
      [](double x) { return x == 0 || std::isnan(x) ? x : std::copysign(1, x); });
  check_slopes(
      special, [](auto const& x) { return clamp(x, -1, 2.5); },
      [](double x) { return std::isnan(x) ? x : x >= -1 && x <= 2.5; });
  check_slopes(
      special, [](auto const& x) { return leaky_relu(x); },
      [](double x) { return std::isnan(x) ? x : std::max(0.01, static_cast<double>(x > 0)); });
  check_slopes(
      usual, [](auto const& x) { return elu(x, 2); }, [](double x) { return x > 0 ? 1 : 2 * std::exp(x); });
}
