// tile, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct two : dim<2> {};
struct one : dim<1> {};
struct many : dim<24> {};

}  // namespace

TEST_CASE("tile of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = tile<trio, in>(x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 2, 3, 1, 2, 3});
  CHECK(slopes_of(x) == list{2, 2, 2});
}

TEST_CASE("tile of dimensions whole and split, to dimensions whole and split") {
  check_operation<shape<batch, in>, shape<two, in>, shape<key, one>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{tile<in, many>(x), tile<two, vocab>(y), tile<two, right>(tanh(y)),
                          tile<one, left>(z), tile<key, key>(z)};
      });
}

// what the layout says of a dimension to repeat, and of what it becomes
struct by_batch : layout<fixture::pair, split<batch, line>> {};
struct by_many : layout<fixture::pair, split<many, line>> {};
struct some : up_to<24> {};
static_assert(is_legal<tile_verdict<by_batch, shape<batch, in>, in, many>>);
static_assert(is_legal<tile_verdict<by_many, shape<batch, in>, in, many>>);
static_assert(std::same_as<tile_verdict<by_batch, shape<batch, in>, batch, many>,
                           tiled_dim_is_split<batch, axes<line>>>);
static_assert(
    std::same_as<tile_verdict<by_many, shape<batch, in>, in, hidden>, tiled_dim_is_no_multiple<hidden, in>>);
static_assert(std::same_as<tile_verdict<by_many, shape<batch, in>, in, some>, counted_dim_is_reshaped<some>>);
static_assert(
    std::same_as<tile_verdict<by_many, shape<batch, in>, hidden, many>, dim_is_not_in_tensor<hidden>>);

TEST_CASE("a copy begins where the one before it ends", "[1]") {
  auto& m      = processes<single>();
  auto const x = iota<int, alone, in>(m);
  auto const z = tile<in, many>(x);
  for (std::size_t i = 0; i < 24; ++i) CHECK(z.local()(i) == static_cast<int>(i % 6));
}
