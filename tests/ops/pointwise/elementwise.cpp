// Arithmetic and functions of each element, under every layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("arithmetic and functions of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 4});
  auto const y = literal<trio>({4, 2, 1});
  backward(sum(x * y));
  CHECK(numbers_of(x + y) == list{5, 4, 5});
  CHECK(numbers_of(x / y) == list{0.25, 1, 4});
  CHECK(slopes_of(x) == list{4, 2, 1});
  CHECK(numbers_of(x + literal<duo, trio>({{0, 0, 0}, {10, 20, 30}})) == list{1, 2, 4, 11, 22, 34});
  CHECK(numbers_of(relu(2 - x)) == list{1, 0, 0});
  CHECK(rounded(numbers_of(exp(x))) == list{2.7183, 7.3891, 54.5982});
}

TEST_CASE("two tensors of one shape") {
  check_operation<drawn{2, 0.2}, shape<batch, hidden>, shape<batch, hidden>>(
      [](auto const& x, auto const& y) { return std::tuple{x + y, x - y, x * y, x / y}; });
}

TEST_CASE("a smaller operand, broadcast: it is unreduced over the axes of the dimensions that it lacks") {
  check_operation<drawn{2, 0.2}, shape<batch, hidden>, shape<hidden>, shape<batch>, shape<>>(
      [](auto const& x, auto const& b, auto const& s, auto const& t) {
        return std::tuple{x + b, s + x, x - t, b - x, x * s, t * x, b * x, x / b, s / x};
      });
}

TEST_CASE("two operands that share no dimension") {
  check_operation<drawn{2, 0.2}, shape<batch, in>, shape<hidden>>(
      [](auto const& x, auto const& y) { return std::tuple{x + y, y - x, x * y, y / x}; });
}

TEST_CASE("a tensor and a number; images of a parameter stay unreduced") {
  check_operation<drawn{2, 0.2}, shape<batch, hidden>>([](auto const& x) {
    auto const y = x * 2;
    return std::tuple{x + 2, 2 + x, x - 2, 2 - y, 0.5 * y, x / 4, 3 / x, -x, -(y + 1)};
  });
}

TEST_CASE("functions of each element: nothing to reduce") {
  check_operation<drawn{0, 2}, shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{exp(x), square(x), tanh(x), sigmoid(x), relu(x), gelu(x)}; });
  check_operation<drawn{2, 0.2}, shape<batch, hidden>>(
      [](auto const& x) { return std::tuple{log(x), sqrt(x), rsqrt(x)}; });
}

TEST_CASE("functions of the user's own, of one operand and of several") {
  check_operation<drawn{2, 0.2}, shape<batch, hidden>, shape<hidden>>([](auto const& x, auto const& b) {
    auto const swish = map([](auto v) { return v / (1 + std::exp(-v)); },
                           [](auto v) {
                             auto const s = 1 / (1 + std::exp(-v));
                             return s + v * s * (1 - s);
                           },
                           x);
    auto const power =
        map([](auto v, auto w) { return std::pow(v, w); },
            [](auto v, auto w) { return std::array{w * std::pow(v, w - 1), std::log(v) * std::pow(v, w)}; },
            x, b);
    return std::tuple{swish, power};
  });
}

TEST_CASE("elementwise operations in single precision") {
  check_operation_in_float<shape<batch, hidden>, shape<hidden>>(
      [](auto const& x, auto const& b) { return std::tuple{gelu(x + b), sigmoid(x * b), exp(-square(x))}; });
}
