// Concatenation, under every layout.
// test: program ops2
#include <algorithm>
#include <tuple>
#include <type_traits>

#include <meshtf/ops/shape/concat.hpp>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct two : dim<2> {};
struct three : dim<3> {};
struct five : dim<5> {};
struct other_five : dim<5> {};
struct ten : dim<10> {};

constexpr auto joins = [](auto const& x, auto const& y, auto const& z) {
  return std::tuple{concat<ten>(x, y, z), concat<five>(y, x)};
};
constexpr auto pair_joined = [](auto const& x, auto const& y) { return concat<five>(x, y); };

}  // namespace

TEST_CASE("concat of literal numbers: each row of both") {
  if (!on_one_process()) return;
  auto const x = literal<duo, two>({{1, 2}, {3, 4}});
  auto const y = literal<duo, three>({{10, 20, 30}, {40, 50, 60}});
  auto const z = concat<five>(x, y);
  backward(sum(z * z));
  CHECK(numbers_of(z) == list{1, 2, 10, 20, 30, 3, 4, 40, 50, 60});
  CHECK(slopes_of(x) == list{2, 4, 6, 8});
}

TEST_CASE(
    "concat in the middle, of the last and of the first dimension; a parameter's gradient stays unreduced") {
  check_operation<shape<batch, two, hidden>, shape<batch, three, hidden>, shape<batch, five, hidden>>(joins);
  check_operation<shape<hidden, two>, shape<hidden, three>>(pair_joined);
  check_operation<shape<two, batch, length>, shape<three, batch, length>>(pair_joined);
}

TEST_CASE("concat of an operand with itself renamed, and of a parameter with what is none") {
  check_operation<shape<batch, five>>(
      [](auto const& x) { return concat<ten>(x, rename<five, other_five>(x)); });
  check_operation<shape<batch, two>, shape<batch, three>>(
      [](auto const& x, auto const& y) { return concat<five>(x, tanh(y)); });
}

TEST_CASE("each part is unreduced over the axes of the join") {
  check_operation<shape<two, hidden>, shape<three, hidden>>([](auto const& x, auto const& y) {
    using L = typename std::remove_cvref_t<decltype(x)>::layout_type;
    // batch is summed over in the gradient
    auto const data = random_normal<double, L, batch, five, hidden>(x.machine(), {.seed = 5});
    return data * concat<five>(x, y);
  });
}

TEST_CASE("the gradient of parameters that were joined stays unreduced; of others, it is summed once for all",
          "[1]") {
  // the table lacks `batch`, which is split: its gradient is a sum over processes
  constexpr auto cost = [](operand second) {
    return [second]<Layout L>(machine<L>& m) {
      parameter<double, L, two, hidden> x{m, normal{1}};
      parameter<double, L, three, hidden> y{m, normal{2}};
      tensor<double, L, batch, five, hidden> const data{m};
      auto const loss = sum<batch, five, hidden>(data * concat<five>(x, given_as(second, y)));
      backward(loss);
    };
  };
  constexpr cost_summary open{dry_run<fixture::data>(cost(operand::parameter))};
  constexpr cost_summary closed{dry_run<fixture::data>(cost(operand::intermediate))};
  CHECK(open.count == 1);  // the loss
  REQUIRE(closed.count == 2);
  CHECK(closed.calls[1].count == 5 * 16);
  CHECK(cost_summary{dry_run<fixture::data>(cost(operand::data))}.count == 1);
}

TEST_CASE("concat of int, and what a join looks like") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(concat<five>(iota<int, L, two>(m), iota<int, L, three>(m) + 10));
    auto const x = argmax<vocab>(random_normal<double, L, batch, two, vocab>(m, {.seed = 1}));
    auto const y = argmax<vocab>(random_normal<double, L, batch, three, vocab>(m, {.seed = 2}));
    see(concat<five>(x, y));
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m         = processes<single>();
  auto const z    = concat<five>(iota<int, alone, two>(m), iota<int, alone, three>(m) + 10);
  int const all[] = {0, 1, 10, 11, 12};
  CHECK(std::equal(z.data(), z.data() + 5, all));
}

TEST_CASE("concat along a split dimension: each process keeps its part") {
  check_operation<shape<in, two>, shape<in, memory>, shape<in, key>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{concat<left>(x, y, z), concat<vocab>(tanh(y), x, z)};
      });
  check_operation<shape<in, key>, shape<in, two>>(
      [](auto const& x, auto const& y) { return concat<member>(y, x); });
}

TEST_CASE(
    "of what was joined along a split dimension, one gather brings the gradients to all parts; those of "
    "parameters stay unreduced",
    "[1]") {
  constexpr auto cost = [](operand kind) {
    return [kind]<Layout L>(machine<L>& m) {
      parameter<double, L, group, in> x{m, normal{1}};
      parameter<double, L, memory, in> y{m, normal{2}};
      tensor<double, L, vocab, in> const table{m};
      auto const loss = sum<vocab, in>(table * concat<vocab>(given_as(kind, x), given_as(kind, y)));
      backward(loss);
    };
  };
  constexpr cost_summary open{dry_run<fixture::model>(cost(operand::parameter))};
  constexpr cost_summary gathered{dry_run<fixture::model>(cost(operand::intermediate))};
  CHECK(open.count == 1);  // the loss
  REQUIRE(gathered.count == 2);
  CHECK(gathered.calls[1].kind == collective::all_gather);
  CHECK(gathered.calls[1].count == 4 * 6);
}

TEST_CASE("concat in single precision") {
  check_operation_in_float<shape<batch, two>, shape<batch, three>>(
      [](auto const& x, auto const& y) { return concat<five>(x, y); });
}

TEST_CASE("slices of a join are what was joined", "[1]") {
  auto& m      = processes<single>();
  auto const x = random_normal<double, alone, batch, two, in>(m, {.seed = 1});
  auto const y = random_normal<double, alone, batch, three, in>(m, {.seed = 2});
  auto const z = concat<five>(x, y);
  auto const a = slice<five, two>(z, 0);
  auto const b = slice<five, three>(z, 2);
  CHECK(std::equal(x.data(), x.data() + x.size, a.data()));
  CHECK(std::equal(y.data(), y.data() + y.size, b.data()));
}
