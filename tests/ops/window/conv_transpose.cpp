// conv_transpose: what conv gives back to its operand, as an operation of its own.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

#include <meshtf/ops/window/conv_transpose.hpp>

using namespace fixture;

namespace {

struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct half_in : dim<3> {};
struct few : dim<2> {};

}  // namespace

TEST_CASE("conv_transpose of literal numbers: the filter around each element") {
  if (!on_one_process()) return;
  auto const z = literal<quartet, few>({{1, 0}, {0, 0}, {0, 0}, {2, 0}});
  auto const w = literal<k_h, key, few>({1, 0, 5, 0, 10, 0, 50, 0, 100, 0, 500, 0});  // of keys 0 and 1
  auto const x = conv_transpose<window<quartet, k_h>, key, few>(z, w);
  CHECK(numbers_of(x) == list{10, 50, 100, 500, 2, 10, 20, 100});
}

TEST_CASE("conv_transpose over split dimensions, to channels of which a part is summed elsewhere") {
  check_operation<shape<batch, half_in, length, hidden>, shape<k_h, k_w, few, hidden>>(
      [](auto const& z, auto const& w) {
        return conv_transpose<window<batch, k_h>, window<in, k_w, half_in, stride<2>>, few, hidden>(z, w);
      });
}

TEST_CASE("conv_transpose is the gradient of conv", "[1]") {
  auto& m = processes<single>();
  parameter<double, alone, batch, in, few> x{m, normal{1}};
  auto const w = random_normal<double, alone, k_h, few, hidden>(m, {.seed = 2});
  auto const z = random_normal<double, alone, batch, half_in, hidden>(m, {.seed = 3});
  backward(sum(z * conv<window<in, k_h, half_in, stride<2>>, few, hidden>(x, w)));
  auto const same = conv_transpose<window<in, k_h, half_in, stride<2>>, few, hidden>(z, w);
  CHECK(max(abs(same - finish(gradient(x)))).value() < 1e-12);
}
