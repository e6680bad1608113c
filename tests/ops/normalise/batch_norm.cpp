// batch_norm and group_norm: statistics over dimensions split and whole, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

#include <meshtf/ops/normalise/batch_norm.hpp>
#include <meshtf/ops/normalise/group_norm.hpp>

using namespace fixture;

TEST_CASE("batch_norm of literal numbers, with its statistics") {
  if (!on_one_process()) return;
  auto const x     = literal<duo, key>({{1, 10}, {3, 30}});
  auto const scale = literal<key>({1, 2});
  auto const bias  = literal<key>({0, 100});
  auto const z     = batch_norm<key>(x, scale, bias);
  CHECK(rounded(numbers_of(z.norm)) == list{-1, 98, 1, 102});
  CHECK(numbers_of(z.mean) == list{2, 20});
  CHECK(numbers_of(z.variance) == list{1, 100});
}

TEST_CASE("batch_norm: channels last, in front, and two dimensions of them") {
  check_operation<drawn{0.5, 1}, shape<batch, length, hidden>, shape<hidden>, shape<hidden>, shape<batch>>(
      [](auto const& x, auto const& scale, auto const& bias, auto const& other) {
        return std::tuple{batch_norm<hidden>(x, scale, bias).norm,
                          batch_norm<batch>(x, other, other, 1e-3).norm};
      });
  check_operation<drawn{0.5, 1}, shape<batch, group, member>, shape<group, member>>(
      [](auto const& x, auto const& scale) { return batch_norm<group, member>(x, scale, scale).norm; });
}

TEST_CASE("batch_norm by statistics that are given") {
  check_operation<drawn{0.5, 1}, shape<batch, length, hidden>, shape<hidden>, shape<hidden>>(
      [](auto const& x, auto const& scale, auto const& bias) {
        auto const mean     = stop_gradient(scale * 0.0 + 0.25);
        auto const variance = mean + 1;
        return batch_norm<hidden>(x, scale, bias, mean, variance);
      });
}

TEST_CASE("the statistics of batch_norm") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, length, hidden>(m, {.seed = 3}, 100, 2);
    tensor<double, L, hidden> const scale{m};
    tensor<double, L, hidden> const bias{m};
    auto const z = batch_norm<hidden>(x, scale, bias);
    see(z.mean);
    see(z.variance);
    see(z.mean - mean<batch, length>(x) + 1.0);
    see(z.variance - variance<batch, length>(x) + 1.0);
  });
}

TEST_CASE("group_norm: groups of channels, and each channel by itself") {
  check_operation<drawn{0.5, 1}, shape<batch, length, group, member>, shape<group, member>,
                  shape<group, member>, shape<member>>([](auto const& x, auto const& scale, auto const& bias,
                                                          auto const& other) {
    return std::tuple{group_norm<length, member>(x, scale, bias), group_norm<length>(x, scale, bias, 1e-3),
                      group_norm<batch, group>(x, other, other)};
  });
}

TEST_CASE("batch_norm and group_norm in single precision") {
  check_operation_in_float<shape<batch, length, hidden>, shape<hidden>, shape<hidden>>(
      [](auto const& x, auto const& scale, auto const& bias) {
        return std::tuple{batch_norm<hidden>(x, scale, bias).norm, group_norm<length>(x, scale, bias)};
      });
}
