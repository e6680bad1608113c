// Sorting along a whole dimension, under every layout: values, indices, gradients; ties, NaNs and zeros with
// a sign.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("sort and argsort of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({4, 1, 3, 2});
  auto const z = sort<quartet>(x);
  backward(sum(z * literal<quartet>({10, 20, 30, 40})));
  CHECK(numbers_of(z) == list{1, 2, 3, 4});
  CHECK(slopes_of(x) == list{40, 10, 30, 20});
  CHECK(numbers_of(argsort<quartet>(x)) == list{1, 3, 2, 0});
  CHECK(numbers_of(sort<quartet>(x, {.descending = true})) == list{4, 3, 2, 1});
}

TEST_CASE("sort along the first, a middle and the last dimension, whatever else is split") {
  check_operation<shape<in, hidden>, shape<batch, in, out>, shape<batch, in>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{sort<in>(x), sort<in>(y, {.descending = true}), sort_and_argsort<in>(z).value,
                          sort<in>(z * 2)};
      });
  check_operation_in_float<shape<batch, in>>([](auto const& x) { return sort<in>(x); });
}

TEST_CASE("the indices of sorted elements are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, in, hidden>(m, {.seed = 1});
    see(argsort<in>(x));
    see(argsort<in>(floor(x), {.descending = true}));  // many are equal
    auto const [value, index] = sort_and_argsort<in>(cast<bfloat16>(x), {.descending = true});
    see(value);
    see(index);
  });
}

namespace {

template<class T>
void check_specials() {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  T const inf = std::numeric_limits<T>::infinity();
  tensor<T, alone, vocab> x{processes<single>()};
  std::array<T, 8> const values{T(0), nan, T(2), -inf, T(-0.0), inf, nan, T(2)};
  std::copy(values.begin(), values.end(), x.data());
  auto const shown = [](auto const& index) {
    return std::vector<std::int32_t>(index.data(), index.data() + index.size);
  };
  CHECK(shown(argsort<vocab>(x)) == std::vector<std::int32_t>{3, 0, 4, 2, 7, 5, 1, 6});
  CHECK(shown(argsort<vocab>(x, {.descending = true})) == std::vector<std::int32_t>{5, 2, 7, 0, 4, 3, 1, 6});
  auto const z = sort<vocab>(x);
  CHECK(!std::signbit(z.data()[1]));
  CHECK(std::signbit(z.data()[2]));
  CHECK(std::isnan(z.data()[7]));
}

}  // namespace

TEST_CASE("equal elements stay in their order, and NaNs are last in either order") {
  check_specials<double>();
  check_specials<float>();
}

TEST_CASE("the smallest and the largest integers have their order") {
  tensor<std::int64_t, alone, member> x{processes<single>()};
  x.data()[0]     = 5;
  x.data()[1]     = std::numeric_limits<std::int64_t>::min();
  x.data()[2]     = std::numeric_limits<std::int64_t>::max();
  x.data()[3]     = -5;
  auto const up   = sort<member>(x);
  auto const down = sort<member>(x, {.descending = true});
  CHECK(std::vector<std::int64_t>(up.data(), up.data() + 4) ==
        std::vector<std::int64_t>{x.data()[1], -5, 5, x.data()[2]});
  CHECK(std::vector<std::int64_t>(down.data(), down.data() + 4) ==
        std::vector<std::int64_t>{x.data()[2], 5, -5, x.data()[1]});
}

TEST_CASE("sort along a split dimension is a verdict") {
  STATIC_REQUIRE(
      std::same_as<sort_verdict<data, shape<batch, in>, batch>, sort_along_split_dim<batch, axes<line>>>);
  STATIC_REQUIRE(is_legal<sort_verdict<data, shape<batch, in>, in>>);
  STATIC_REQUIRE(std::same_as<sort_verdict<data, shape<batch>, in>, dim_is_not_in_tensor<in>>);
}
