// Parts of a dimension and its indices: slice and iota, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct ten : dim<10> {};
struct pair_of_rows : dim<2> {};

constexpr auto slices = [](auto const& x, auto const& y) {
  return std::tuple{slice<ten, out>(x, 1), slice<ten, batch>(x, 2), slice<ten, ten>(x, 0),
                    slice<ten, pair_of_rows>(y, 8), slice<ten, left>(y, 1)};
};

}  // namespace

TEST_CASE("slice of literal numbers, and iota") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = slice<quartet, duo>(x, 1);
  backward(sum(z));
  CHECK(numbers_of(z) == list{2, 3});
  CHECK(slopes_of(x) == list{0, 1, 1, 0});
  CHECK(numbers_of(iota<int, alone, trio>(x.machine())) == list{0, 1, 2});
}

TEST_CASE("slice to dimensions whole and split; a parameter's gradient stays unreduced") {
  check_operation<shape<ten, hidden>, shape<in, ten>>(slices);
}

TEST_CASE("slice of rows of which a process may hold none") {
  check_operation<shape<hidden, ten, in>>([](auto const& x) { return slice<ten, out>(x, 1); });
}

TEST_CASE("slice in single precision") {
  check_operation_in_float<shape<ten, hidden>>([](auto const& x) { return slice<ten, batch>(x, 2); });
}

TEST_CASE("iota counts on where a dimension is split; one_hot of what is no index is zeros") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(iota<int, L, vocab>(m));
    see(iota<float, L, batch>(m));
    see(iota<double, L, in>(m));
    see(one_hot<vocab, float>(iota<int, L, batch>(m) * 2 - 1));
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m         = processes<single>();
  auto const hot  = one_hot<key, double>(iota<int, alone, length>(m) - 1);
  auto const held = hot.local();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 2; ++j) CHECK(held(i, j) == (i == j + 1 ? 1 : 0));
}

TEST_CASE("a slice that reaches outside is named") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  tensor<double, alone, ten> x{m};
  for (extent first : {-1, 3})
    CHECK_THROWS_WITH((slice<ten, batch>(x, first)),
                      "slice of " + std::string{name_of<ten>()} + " starts at " + std::to_string(first) +
                          ", expected 0 to 2: " + std::string{name_of<batch>()} +
                          " takes 8 of its 10 elements");
  CHECK_THROWS_AS((slice<ten, batch>(x, 3)), software_error);
}
