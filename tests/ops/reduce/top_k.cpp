// The largest elements along a dimension, whole or split, under every layout: values, indices, gradients;
// ties and NaNs; parts with too few elements.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct best : dim<3> {};
struct most : dim<7> {};  // more than some parts have

}  // namespace

TEST_CASE("top_k of literal numbers: the largest two, and where they were") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({4, 1, 3, 2});
  auto const z = top_k<quartet, duo>(x);
  backward(sum(z.value));
  CHECK(numbers_of(z.value) == list{4, 3});
  CHECK(numbers_of(z.index) == list{0, 2});
  CHECK(slopes_of(x) == list{1, 0, 1, 0});
  CHECK(numbers_of(top_k<quartet, duo>(x, {.descending = false}).value) == list{1, 2});
}

TEST_CASE("top_k along a whole dimension") {
  check_operation<shape<in, hidden>, shape<batch, in, out>, shape<batch, in>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{top_k<in, best>(x).value, top_k<in, best>(y, {.descending = false}).value,
                          top_k<in, best>(z * 2).value};
      });
  check_operation_in_float<shape<batch, in>>([](auto const& x) { return top_k<in, best>(x).value; });
}

TEST_CASE("top_k along a split dimension") {
  check_operation<shape<batch, in>, shape<out, hidden>, shape<in, hidden, batch>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{top_k<batch, best>(x).value, top_k<hidden, best>(y).value,
                          top_k<hidden, most>(z).value, top_k<batch, most>(z).value};
      });
}

TEST_CASE("the indices of the largest elements are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, hidden, in, batch>(m, {.seed = 1});
    see(top_k<hidden, most>(x).index);
    see(top_k<batch, most>(floor(x)).index);  // many are equal
    see(top_k<batch, best>(floor(x), {.descending = false}).index);
    auto const narrow = top_k<hidden, best>(cast<bfloat16>(x));
    see(narrow.value);
    see(narrow.index);
    see(top_k<hidden, most>(cast<int>(x * 3)).index);
  });
}

TEST_CASE("NaNs are last, also where parts have nothing else") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const place = iota<double, L, hidden>(m);
    auto const x     = where(less(place, 9), (place - place) / (place - place), place);  // NaN up to 8
    see(top_k<hidden, most>(x).value);
    see(top_k<hidden, most>(x).index);
    see(top_k<hidden, most>(x, {.descending = false}).index);
    auto const unknown = where(less(place, 13), (place - place) / (place - place), place);
    see(top_k<hidden, most>(unknown).index);
  });
}

TEST_CASE("top_k of more than there is, and along ranks that are split, is a verdict") {
  struct ten : dim<10> {};
  STATIC_REQUIRE(std::same_as<top_k_verdict<data, shape<batch, in>, in, ten>, k_is_larger_than_dim<ten, in>>);
  STATIC_REQUIRE(std::same_as<top_k_verdict<model, shape<batch, hidden>, hidden, vocab>,
                              ranks_are_split<vocab, axes<line>>>);
  STATIC_REQUIRE(
      std::same_as<top_k_verdict<model, shape<batch, hidden>, in, best>, dim_is_not_in_tensor<in>>);
  STATIC_REQUIRE(is_legal<top_k_verdict<model, shape<batch, hidden>, hidden, best>>);
  STATIC_REQUIRE(std::same_as<top_k_verdict<model, shape<batch, hidden>, hidden, hidden>,
                              sort_along_split_dim<hidden, axes<line>>>);
  STATIC_REQUIRE(is_legal<top_k_verdict<model, shape<batch, in>, in, in>>);
}
