// flip, roll, shift and pad, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct ten : dim<10> {};
struct rest : up_to<5> {};

constexpr auto flips = [](auto const& x, auto const& y, auto const& z) {
  return std::tuple{flip<ten>(x), flip<in>(y), flip<ten>(tanh(z))};
};
constexpr auto pads = [](auto const& x, auto const& y) {
  return std::tuple{pad<in, ten>(x, 1), pad<in, ten>(y, 4),  pad<in, ten>(x, 0, -2.),
                    pad<in, in>(y, 0),  pad<in, left>(y, 2), pad<in, right>(y, 1, 0.5)};
};

}  // namespace

TEST_CASE("flip and pad of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = pad<trio, in>(x, 1);
  backward(sum(z));
  CHECK(numbers_of(z) == list{0, 1, 2, 3, 0, 0});
  CHECK(slopes_of(x) == list{1, 1, 1});
  CHECK(numbers_of(pad<trio, in>(x, 2, -1.)) == list{-1, -1, 1, 2, 3, -1});
  CHECK(numbers_of(flip<trio>(x)) == list{3, 2, 1});
}

TEST_CASE("flip of the first, the last and the middle dimension; a parameter's gradient stays unreduced") {
  check_operation<shape<ten, hidden>, shape<batch, in>, shape<hidden, ten, batch>>(flips);
}
TEST_CASE("flip where other dimensions are uneven, and in single precision") {
  check_operation<shape<batch, ten, heads>>([](auto const& x) { return flip<ten>(x); });
  check_operation_in_float<shape<batch, ten>>([](auto const& x) { return flip<ten>(x); });
}

TEST_CASE("pad with zeros and with other values, to dimensions whole and split") {
  check_operation<shape<batch, in>, shape<in, key>>(pads);
}

TEST_CASE("a padding that has no room is named") {
  if (boost::mpi::communicator{}.size() != 1) return;
  tensor<double, alone, in> const x{processes<single>()};
  for (extent before : {-1, 5})
    CHECK_THROWS_WITH((pad<in, ten>(x, before)),
                      "pad of " + std::string{name_of<in>()} + " puts " + std::to_string(before) +
                          " elements before it, expected 0 to 4: " + std::string{name_of<ten>()} +
                          " has 10 elements, and 6 of them are given");
}

TEST_CASE("a flip of what is counted begins at the last that there is") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  counted<rest> const three{m, 3};
  auto const z    = flip<rest>(iota<int, alone, rest>(m));
  auto const back = flip<rest>(z);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK((z.local()(i) == 2 - static_cast<int>(i) && back.local()(i) == static_cast<int>(i)));
}
