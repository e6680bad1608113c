// Rows by index where the ids share dimensions with the table: each element of a shared dimension looks among
// rows of its own.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// Indices of `Rows` that are the same under every layout; some come more than once.
template<class Rows, class... D, class X>
constexpr auto ids(X const& x, std::uint64_t seed) {
  using L = typename X::layout_type;
  return argmax<Rows>(random_normal<double, L, Rows, D...>(x.machine(), {.seed = seed}));
}

constexpr auto batched = [](auto const& x, auto const& y, auto const& z) {
  return std::tuple{gather<vocab>(x, ids<vocab, batch, length>(x, 5)),
                    gather<vocab>(x, ids<vocab, batch>(x, 6)), gather<vocab>(y, ids<vocab, batch>(y, 7)),
                    gather<out>(z, ids<out, hidden, length, batch>(z, 8)),
                    gather<out>(z, ids<out, batch, hidden>(z, 9))};
};

}  // namespace

TEST_CASE("gather of literal numbers, one of each row") {
  if (!on_one_process()) return;
  auto const table = literal<duo, trio>({{1, 2, 3}, {4, 5, 6}});
  auto const z     = gather<trio>(table, integers<duo>({2, 0}));
  backward(sum(z));
  CHECK(numbers_of(z) == list{3, 4});
  CHECK(slopes_of(table) == list{0, 0, 1, 1, 0, 0});
}

TEST_CASE(
    "gather of rows of each batch, with the rows split and whole, and the shared dimensions first, last "
    "and several") {
  check_operation<shape<batch, vocab, in>, shape<in, vocab, batch>, shape<hidden, out, batch>>(batched);
}

TEST_CASE("a gather that shares dimensions is einsum with one_hot") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, vocab, in> table{m, normal{1}};
    auto const tokens = ids<vocab, batch, length>(table, 4);
    auto const hot    = one_hot<vocab, double>(tokens);
    auto const apart  = sum(square(gather<vocab>(table, tokens) - einsum<batch, length, in>(hot, table)));
    see(1 + apart);
    backward(apart);
    see(finish(gradient(table)) + 1);
  });
}
