// Rows by index: gather, its scatter-add and one_hot, under every layout.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// Indices of `Rows` that are the same under every layout; some come more than once.
template<class Rows, class X, class... D>
constexpr auto ids(X const& x, std::uint64_t seed) {
  using L = typename X::layout_type;
  return argmax<Rows>(random_normal<double, L, Rows, D...>(x.machine(), {.seed = seed}));
}

template<class X>
using plain = std::remove_cvref_t<X>;

constexpr auto embeddings = [](auto const& x, auto const& y, auto const& z) {
  using X = plain<decltype(x)>;
  return std::tuple{gather<vocab>(x, ids<vocab, X, batch, length>(x, 5)),
                    gather<vocab>(x, ids<vocab, X>(x, 6)), gather<vocab>(y, ids<vocab, X, batch>(x, 7)),
                    gather<in>(z, ids<in, X, batch>(x, 8))};
};

/// The table is what tokens are looked up in and what their likelihoods are read off.
constexpr auto tied = [](auto const& table) {
  using X           = plain<decltype(table)>;
  auto const tokens = ids<vocab, X, batch, length>(table, 3);
  auto const x      = gather<vocab>(table, tokens);
  auto const logits = einsum<batch, length, vocab>(tanh(x), table);
  return softmax_cross_entropy<vocab>(logits, tokens);
};

}  // namespace

TEST_CASE("gather of literal numbers: rows by index, and as many gradients as each is taken") {
  if (!on_one_process()) return;
  auto const table = literal<trio, key>({{1, 2}, {3, 4}, {5, 6}});
  auto const ids   = integers<quartet>({2, 0, 2, 2});
  auto const z     = gather<trio>(table, ids);
  backward(sum(z));
  CHECK(numbers_of(z) == list{5, 6, 1, 2, 5, 6, 5, 6});
  CHECK(slopes_of(table) == list{1, 1, 0, 0, 3, 3});
  CHECK(numbers_of(one_hot<trio, double>(integers<duo>({2, 0}))) == list{0, 0, 1, 1, 0, 0});
}

TEST_CASE(
    "gather: rows split and whole, of a table whose other dimensions are split, the rows first and last") {
  check_operation<shape<vocab, in>, shape<in, vocab>, shape<in, hidden>>(embeddings);
}

TEST_CASE("gather in single precision") { check_operation_in_float<shape<vocab, in>>(tied); }

TEST_CASE("gather and einsum with one table: the unreduced axes of its two uses are merged") {
  check_operation<shape<vocab, in>>(tied);
}

TEST_CASE("gather is einsum with one_hot") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, vocab, in> table{m, normal{1}};
    auto const tokens  = ids<vocab, plain<decltype(table)>, batch, length>(table, 4);
    auto const hot     = one_hot<vocab, double>(tokens);
    auto const by_rows = gather<vocab>(table, tokens);
    auto const by_hand = einsum<batch, length, in>(hot, table);
    auto const apart   = sum(square(by_rows - by_hand));
    see(hot);
    see(1 + apart);
    backward(apart);
    see(finish(gradient(table)) + 1);
  });
}

TEST_CASE("gather of integers has no gradient") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const squares = iota<int, L, vocab>(m) * iota<int, L, vocab>(m);
    auto const tokens  = argmax<vocab>(random_normal<double, L, vocab, batch>(m, {.seed = 2}));
    see(gather<vocab>(squares, tokens));
  });
}

TEST_CASE("an id that is no row is named") {
  if (boost::mpi::communicator{}.size() != 2) return;
  auto& m = processes<pair>();
  parameter<double, fixture::model, vocab, in> table{m, normal{1}};
  tensor<int, fixture::model, batch> tokens{m};
  for (int wrong : {8, -1}) {
    tokens.local()(3) = wrong;
    CHECK_THROWS_WITH(gather<vocab>(table, tokens), "id number 3 of this process is " +
                                                        std::to_string(wrong) +
                                                        ", expected a row from 0 to 7: check the ids");
  }
  tokens.local()(3) = 7;
  CHECK_NOTHROW(gather<vocab>(table, tokens));
  m.unwind_tape(false);
}
