// rotary: rotations by the position, under every layout; the convention of Llama.
// test: program attention
#include <cmath>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct depth : dim<8> {};

}  // namespace

TEST_CASE("rotary of literal numbers: position 1 is turned by one radian") {
  if (!on_one_process()) return;
  auto const x = literal<duo, key>({{1, 0}, {1, 0}});
  auto const z = rotary<duo, key>(x);
  backward(sum(z));
  CHECK(rounded(numbers_of(z)) == list{1, 0, 0.5403, 0.8415});
  CHECK(rounded(slopes_of(x)) == list{1, 1, 1.3818, -0.3012});  // turned back
}

TEST_CASE("rotary of queries: split lengths, positions of a tensor, a first position") {
  check_operation<shape<batch, length, heads, depth>>(
      [](auto const& x) { return rotary<length, depth>(x, {.first = 2, .base = 100}); });
  check_operation<shape<depth, length, batch>>([]<class X>(X const& x) {
    auto const here = iota<int, typename X::layout_type, batch>(x.machine()) * 3;
    return rotary<depth>(x, here);
  });
}

TEST_CASE("rotary rotates an element of the first half with one of the second, as in Llama") {
  auto& m      = processes<single>();
  auto const x = random_normal<double, alone, length, depth>(m, {.seed = 1});
  auto const z = rotary<length, depth>(x, {.first = 5});
  for (extent p = 0; p < length::size; ++p)
    for (extent i = 0; i < 4; ++i) {
      double const angle = static_cast<double>(p + 5) * std::pow(10000.0, -static_cast<double>(2 * i) / 8);
      double const a     = x.data()[8 * p + i];
      double const b     = x.data()[8 * p + i + 4];
      CHECK(std::abs(z.data()[8 * p + i] - (a * std::cos(angle) - b * std::sin(angle))) < 1e-12);
      CHECK(std::abs(z.data()[8 * p + i + 4] - (b * std::cos(angle) + a * std::sin(angle))) < 1e-12);
    }
}

TEST_CASE("rotary costs a pass over its operand and sends nothing") {
  constexpr auto price = dry_run<mixed>([]<Layout L>(machine<L>& m) {
    tensor<float, L, batch, length, heads, depth> x{m};
    auto const z = rotary<length, depth>(x);
    (void)z;
  });
  STATIC_REQUIRE(price.calls() == 0 && price.flops() == 0);
}
