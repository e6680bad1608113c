// conv_transpose: what conv gives back to its operand, as an operation of its own.
// test: program ops2
#include "../../layout_fixture.hpp"

#include <meshtf/ops/window/conv_transpose.hpp>

using namespace fixture;

namespace {

struct k_h : dim<3> {};
struct k_w : dim<2> {};
struct half_in : dim<3> {};
struct few : dim<2> {};

}  // namespace

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
