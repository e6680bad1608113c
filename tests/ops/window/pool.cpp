// max_pool and avg_pool: of whole and split dimensions, also with windows that reach beyond the ends.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

#include <meshtf/ops/window/pool.hpp>

using namespace fixture;

namespace {

struct three : dim<3> {};
struct two : dim<2> {};
struct also_two : dim<2> {};
struct half_in : dim<3> {};
struct wider : dim<7> {};

}  // namespace

TEST_CASE("max_pool and avg_pool of literal numbers: of each two") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 4, 2, 8});
  auto const z = max_pool<window<quartet, two, also_two, stride<2>>>(x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{4, 8});
  CHECK(slopes_of(x) == list{0, 1, 0, 1});
  CHECK(numbers_of(avg_pool<window<quartet, two, also_two, stride<2>>>(x)) == list{2.5, 5});
}

TEST_CASE("max_pool and avg_pool of split and whole dimensions") {
  check_operation<shape<batch, in, memory>, shape<in, hidden>>([](auto const& x, auto const& y) {
    return std::tuple{
        max_pool<window<batch, three>, window<in, two, half_in, stride<2>>>(x),
        avg_pool<window<batch, two>, window<in, three>>(x),
        avg_pool<window<in, also_two, wider, padding<1>>, window<hidden, three, dilation<2>>>(y),
        avg_pool<window<in, two, half_in, stride<2>, valid>>(y), max_pool<window<hidden, two>>(y)};
  });
}

TEST_CASE("pooling of integers, and of what is less than nothing", "[1][4]") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(max_pool<window<hidden, three>>(iota<int, L, hidden>(m) - 20));
    see(max_pool<window<hidden, three>>(cast<float>(iota<int, L, hidden>(m)) - 20));
  });
  auto const z = max_pool<window<hidden, three>>(iota<int, alone, hidden>(processes<single>()) - 20);
  for (int i = 0; i < 16; ++i) CHECK(z.data()[i] == std::min(i + 1, 15) - 20);
}
