// The nth smallest and largest elements along a dimension, whole or split, under every layout: values,
// indices, gradients.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("nth_element of literal numbers, counted from 0") {
  if (!on_one_process()) return;
  auto const x = literal<duo, quartet>({{4, 1, 3, 2}, {5, 8, 7, 6}});
  auto const z = nth_element<quartet, 1>(x);
  backward(sum(z.value));
  CHECK(numbers_of(z.value) == list{2, 6});
  CHECK(numbers_of(z.index) == list{3, 3});
  CHECK(slopes_of(x) == list{0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(numbers_of(nth_element<quartet, 1>(x, {.descending = true}).value) == list{3, 7});
}

TEST_CASE("nth_element along whole and split dimensions") {
  check_operation<shape<in, hidden>, shape<batch, in, out>>([](auto const& x, auto const& y) {
    return std::tuple{nth_element<in, 2>(x).value, nth_element<in, 0>(y, {.descending = true}).value,
                      nth_element<batch, 5>(y).value,
                      nth_element<hidden, 3>(x * 2, {.descending = true}).value};
  });
}

TEST_CASE("the nth element's index is the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = floor(random_normal<double, L, hidden, in>(m, {.seed = 1}));  // many are equal
    see(nth_element<hidden, 8>(x).index);
    see(nth_element<hidden, 0>(x).index);
    see(nth_element<in, 5>(x, {.descending = true}).index);
    see(nth_element<hidden, 15>(cast<int>(x)).value);
  });
}

TEST_CASE("the nth element is that of a sort") {
  tensor<float, alone, in> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<float>(i * 5 % 6);
  CHECK(nth_element<in, 0>(x).value.value() == 0);
  CHECK(nth_element<in, 4>(x).value.value() == 4);
  CHECK(nth_element<in, 4>(x, {.descending = true}).value.value() == 1);
  CHECK(nth_element<in, 4>(x).index.value() == 2);
}
