// rename of several pairs of names at once: one reshard.
// test: program ops2
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct inner : dim<6> {};      // `in` under another name
struct vocab_out : dim<8> {};  // `out`
struct wide_in : dim<16> {};

}  // namespace

TEST_CASE("rename of literal numbers: a matrix with its names exchanged is the transposed one") {
  if (!on_one_process()) return;
  auto const x = literal<duo, key>({{1, 2}, {3, 4}});
  auto const z = rename<duo, key, key, duo>(x);
  CHECK(numbers_of(transpose<duo, key>(z)) == list{1, 3, 2, 4});
  CHECK(numbers_of(x - z) == list{0, -1, 1, 0});
}

TEST_CASE("names that are split move to others, and names are exchanged") {
  check_operation<shape<left, in, out>, shape<batch, hidden, in>>([](auto const& x, auto const& y) {
    return std::tuple{rename<left, out, out, right>(x),  // from one dimension to another
                      rename<left, out, out, left>(x), rename<in, inner, left, even>(x),
                      rename<batch, out, hidden, wide_in, in, inner>(y)};
  });
}

TEST_CASE("partial sums stay partial under several new names") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, in, hidden>(m, {.seed = 1});
    auto const y = random_normal<double, L, hidden, out>(m, {.seed = 2});
    see(finish(rename<in, inner, out, vocab_out>(partial_einsum<in, out>(x, y) * 2)));
  });
}

// groups of tokens to experts, both split over one axis: one all-to-all, and one for the gradient
struct groups : dim<8> {};
struct all_groups : dim<8> {};
struct experts : dim<4> {};
struct all_experts : dim<4> {};
struct model_dim : dim<6> {};
struct switched : layout<fixture::pair, split<groups, line>, split<experts, line>> {};

template<class F>
constexpr cost_summary cost_of(F const&) {
  return cost_summary{dry_run<switched>(F{})};
}

TEST_CASE("groups to experts on one axis is one all-to-all", "[1]") {
  constexpr cost_summary at_once = cost_of([]<Layout L>(machine<L>& m) {
    tensor<double, L, groups, all_experts, model_dim> const x{m};
    return rename<groups, all_groups, all_experts, experts>(x);
  });
  REQUIRE(at_once.count == 1);
  CHECK(at_once.calls[0].kind == collective::all_to_all);
  constexpr cost_summary in_turn = cost_of([]<Layout L>(machine<L>& m) {
    tensor<double, L, groups, all_experts, model_dim> const x{m};
    return rename<all_experts, experts>(rename<groups, all_groups>(x));
  });
  REQUIRE(in_turn.count == 1);
  CHECK(in_turn.calls[0].kind == collective::all_gather);
  CHECK(in_turn.calls[0].sent > at_once.calls[0].sent);
}

namespace {

struct few : up_to<8> {};
struct others : up_to<8> {};

}  // namespace

TEST_CASE("what is renamed to a counted dimension is worth as much as was counted of that one", "[1]") {
  auto& m      = processes<single>();
  auto const z = [&] {
    counted<few> const five{m, 5};
    counted<others> const five_too{m, 5};
    return rename<few, others>(tensor<double, alone, few>{m} + 3);
  }();
  // three of them were never written
  CHECK_THROWS_WITH(sum(z), Catch::Contains("reads 8 elements of others"));
  counted<others> const five{m, 5};
  CHECK(sum(z).value() == 15);
}
