// Pieces of a tensor, and tensors put together: split_into, stack and unstack, under every layout.
// test: program ops2
#include <algorithm>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct two : dim<2> {};
struct three : dim<3> {};
struct five : dim<5> {};
struct ten : dim<10> {};

}  // namespace

TEST_CASE("split_into two pieces of literal numbers") {
  if (!on_one_process()) return;
  auto const x      = literal<in>({1, 2, 3, 4, 5, 6});
  auto const [a, b] = split_into<in, duo, quartet>(x);
  backward(sum(a * a) + sum(b));
  CHECK(numbers_of(a) == list{1, 2});
  CHECK(numbers_of(b) == list{3, 4, 5, 6});
  CHECK(slopes_of(x) == list{2, 4, 1, 1, 1, 1});
}

TEST_CASE(
    "split_into pieces whole and split, along the first, the last and the middle dimension; a parameter's "
    "gradient stays unreduced") {
  check_operation<shape<ten, hidden>, shape<in, ten>, shape<hidden, ten, in>>(
      [](auto const& x, auto const& y, auto const& z) {
        auto const a = split_into<ten, two, batch>(x);
        auto const b = split_into<ten, five, five>(y);
        return std::tuple_cat(a, b, split_into<ten, three, five, two>(z));
      });
  check_operation<shape<batch, in>>([](auto const& x) { return std::get<0>(split_into<in, in>(x)); });
}

TEST_CASE("of the pieces, some are used twice and some not at all") {
  check_operation<shape<ten, hidden>>([](auto const& x) {
    auto const [a, b, c] = split_into<ten, five, three, two>(x);
    return std::tuple{a * 2, a * a, c};
  });
  check_operation<shape<in, ten>>([](auto const& x) {
    auto const parts = split_into<ten, left, two>(x);
    return std::get<0>(parts);
  });
}

TEST_CASE("pieces whose gradients are unreduced over different axes") {
  check_operation<shape<ten, in>>([](auto const& x) {
    using L = typename std::remove_cvref_t<decltype(x)>::layout_type;
    auto const data =
        // batch is summed over in one gradient, hidden in the other
        random_normal<double, L, batch, five, in>(x.machine(), {.seed = 5});
    auto const more   = random_normal<double, L, hidden, five, in>(x.machine(), {.seed = 6});
    auto const [a, b] = split_into<ten, five, five>(x);
    return std::tuple{data * a, more * b, tanh(a)};
  });
}

TEST_CASE("split_into in single precision, of integers, and the inverse of concat") {
  check_operation_in_float<shape<batch, ten>>(
      [](auto const& x) { return split_into<ten, three, two, five>(x); });
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const [a, b] = split_into<ten, two, batch>(iota<int, L, ten>(m));
    see(a);
    see(b);
  });
  if (boost::mpi::communicator{}.size() != 1) return;
  auto const x         = random_normal<double, alone, batch, ten, in>(processes<single>(), {.seed = 1});
  auto const [a, b, c] = split_into<ten, two, three, five>(x);
  auto const z         = concat<ten>(a, b, c);
  CHECK(std::equal(x.data(), x.data() + x.size, z.data()));
}

TEST_CASE("pieces of a partial sum are partial sums") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, hidden, ten> w{m, normal{1}};
    auto const x      = random_normal<double, L, batch, hidden>(m, {.seed = 2});
    auto const [a, b] = split_into<ten, five, five>(partial_einsum<batch, ten>(x, w));
    auto const z      = finish(a + b);
    auto const turned = finish(flip<five>(a));
    auto const wider  = finish(pad<five, in>(b, 1));
    see(z);
    see(turned);
    see(wider);
    auto const of_z      = sum(z * z);
    auto const of_turned = sum(turned * turned * turned);
    auto const of_wider  = sum(wider * 2);
    auto const loss      = of_z + of_turned + of_wider;
    backward(loss);
    see(finish(gradient(w)));
  });
}
