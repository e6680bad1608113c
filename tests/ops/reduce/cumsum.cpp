// Running sums along a dimension, whole or split, under every layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("cumsum of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = cumsum<quartet>(x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 3, 6, 10});
  CHECK(slopes_of(x) == list{4, 3, 2, 1});
  CHECK(numbers_of(cumsum<quartet>(x, {.exclusive = true})) == list{0, 1, 3, 6});
  CHECK(numbers_of(cumsum<quartet>(x, {.reverse = true})) == list{10, 9, 7, 4});
}

TEST_CASE("cumsum along the first, a middle and the last dimension, whatever else is split") {
  check_operation<shape<in, hidden>, shape<batch, in, out>, shape<batch, in>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{cumsum<in>(x), cumsum<in>(y), cumsum<in>(z), cumsum<in>(z * 2)};
      });
  check_operation_in_float<shape<batch, in>>([](auto const& x) { return cumsum<in>(x); });
}

TEST_CASE("cumsum without the element itself, and from the last element on") {
  check_operation<shape<batch, in, out>, shape<in>>([](auto const& x, auto const& y) {
    return std::tuple{cumsum<in>(x, {.exclusive = true}), cumsum<in>(y, {.reverse = true}),
                      cumsum<in>(x, {.exclusive = true, .reverse = true})};
  });
  tensor<int, alone, in> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<int>(i + 1);
  auto const before = cumsum<in>(x, {.exclusive = true});
  auto const from   = cumsum<in>(x, {.reverse = true});
  auto const after  = cumsum<in>(x, {.exclusive = true, .reverse = true});
  for (extent i = 0; i < x.size; ++i) {
    CHECK(before.data()[i] == i * (i + 1) / 2);
    CHECK(from.data()[i] == 21 - i * (i + 1) / 2);
    CHECK(after.data()[i] == 21 - (i + 1) * (i + 2) / 2);
  }
}

TEST_CASE("cumsum is a product with a triangle") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, in> x{m, normal{1}};
    auto const sums = cumsum<in>(x);
    backward(sum(sums * random_normal<double, L, batch, in>(m, {.seed = 2})));
    see(sums);
    see(finish(gradient(x)));
  });
  auto& m = processes<single>();
  tensor<int, alone, in> x{m};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = static_cast<int>(i + 1);
  auto const z = cumsum<in>(x);
  for (extent i = 0; i < x.size; ++i) CHECK(z.data()[i] == (i + 1) * (i + 2) / 2);
}

TEST_CASE("cumsum along a split dimension") {
  check_operation<shape<batch, in>, shape<out, hidden>, shape<in, hidden, batch>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{cumsum<batch>(x), cumsum<hidden>(y, {.exclusive = true}),
                          cumsum<hidden>(z, {.reverse = true}),
                          cumsum<batch>(z * 2, {.exclusive = true, .reverse = true})};
      });
  check_operation_in_float<shape<in, hidden>>([](auto const& x) { return cumsum<hidden>(x); });
}

TEST_CASE("cumsum of integers along a split dimension is exact, and doubles stay doubles from part to part") {
  check_program(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        // the sums are odd numbers that no float holds
        see(cumsum<hidden>(iota<int, L, hidden>(m) + 16777217));
        see(cumsum<batch>(iota<std::int64_t, L, batch>(m) + 1099511627777, {.exclusive = true}));
        see(cumsum<hidden>(random_uniform<double, L, in, hidden>(m, {1}, 0, 1), {.reverse = true}));
      },
      1e-15);
}

TEST_CASE("cumsum of bfloat16 and of a partial sum along a split dimension") {
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        // integers: no sum is rounded
        see(cast<float>(cumsum<hidden>(floor(random_uniform<bfloat16, L, in, hidden>(m, {1}, 0, 9)))));
        parameter<float, L, batch, hidden> w{m, normal{2}};
        auto const p = partial_einsum<hidden, out>(w, random_normal<float, L, batch, out>(m, {.seed = 3}));
        auto const z = finish(cumsum<hidden>(p, {.exclusive = true}));
        see(z);
        backward(sum(z * z));
        see(finish(gradient(w)));
      },
      1e-5);
}

TEST_CASE("cumsum of a dimension that is not there is a verdict") {
  STATIC_REQUIRE(is_legal<cumsum_verdict<data, shape<batch, in>, batch>>);
  STATIC_REQUIRE(is_legal<cumsum_verdict<data, shape<batch, in>, in>>);
  STATIC_REQUIRE(std::same_as<cumsum_verdict<data, shape<batch>, in>, dim_is_not_in_tensor<in>>);
}
