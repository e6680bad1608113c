// residual_layer_norm under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("residual_layer_norm of literal numbers: the sum, and its norm") {
  if (!on_one_process()) return;
  auto const x      = literal<duo, key>({{1, 2}, {5, 6}});
  auto const y      = literal<duo, key>({{0, 1}, {5, 24}});
  auto const scale  = literal<key>({1, 2});
  auto const bias   = literal<key>({0, 100});
  auto const [h, n] = residual_layer_norm<key>(x, y, scale, bias);
  CHECK(numbers_of(h) == list{1, 3, 10, 30});
  CHECK(rounded(numbers_of(n)) == list{-1, 102, -1, 102});
}

TEST_CASE("residual_layer_norm: both of its values, each alone, and one after the other") {
  check_operation<drawn{0.5, 1}, shape<batch, hidden>, shape<batch, hidden>, shape<hidden>>(
      [](auto const& x, auto const& y, auto const& scale) {
        auto const [h, n] = residual_layer_norm<hidden>(x, y, scale, scale);
        auto const by     = mean<hidden>(y);
        auto const [k, o] = residual_layer_norm<batch>(h, n, by, by);
        return std::tuple{h, n, o, square(k), h * scale};
      });
}

TEST_CASE("residual_layer_norm of a sum that has a partial sum as its gradient already") {
  check_operation<shape<batch, in>, shape<in>, shape<hidden>>(
      [](auto const& x, auto const& scale, auto const& w) {
        auto const [h, n] = residual_layer_norm<in>(x, tanh(x), scale, scale);
        return std::tuple{n, h * w};
      });
}

TEST_CASE("residual_layer_norm in single precision") {
  check_operation_in_float<shape<batch, hidden>, shape<batch, hidden>, shape<hidden>, shape<hidden>>(
      [](auto const& x, auto const& y, auto const& scale, auto const& bias) {
        auto const [h, n] = residual_layer_norm<hidden>(x, y, scale, bias);
        return std::tuple{h, n};
      });
}
