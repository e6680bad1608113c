// Running products along a dimension, whole or split, under every layout, and their gradient where elements
// are 0.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("cumprod of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<quartet>({1, 2, 3, 4});
  auto const z = cumprod<quartet>(x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 2, 6, 24});
  CHECK(rounded(slopes_of(x)) == list{33, 16, 10, 6});
}

TEST_CASE("cumprod along the first, a middle and the last dimension, whatever else is split") {
  check_operation<shape<in, hidden>, shape<batch, in, out>, shape<batch, in>>([](auto const& x, auto const& y,
                                                                                 auto const& z) {
    return std::tuple{cumprod<in>(x), cumprod<in>(y, {.exclusive = true}), cumprod<in>(z, {.reverse = true}),
                      cumprod<in>(z * 2, {.exclusive = true, .reverse = true})};
  });
  check_operation_in_float<shape<batch, in>>([](auto const& x) { return cumprod<in>(x); });
}

TEST_CASE("cumprod takes the elements that its options name") {
  tensor<std::int64_t, alone, in> x{processes<single>()};
  for (extent i = 0; i < x.size; ++i) x.data()[i] = i + 1;
  auto const upto   = cumprod<in>(x);
  auto const before = cumprod<in>(x, {.exclusive = true});
  auto const from   = cumprod<in>(x, {.reverse = true});
  auto const shown  = [](auto const& z) { return std::vector<std::int64_t>(z.data(), z.data() + z.size); };
  CHECK(shown(upto) == std::vector<std::int64_t>{1, 2, 6, 24, 120, 720});
  CHECK(shown(before) == std::vector<std::int64_t>{1, 1, 2, 6, 24, 120});
  CHECK(shown(from) == std::vector<std::int64_t>{720, 720, 360, 120, 30, 6});
  CHECK(shown(cumprod<in>(x, {.exclusive = true, .reverse = true})) ==
        std::vector<std::int64_t>{720, 360, 120, 30, 6, 1});
}

namespace {

/// A product is linear in each of its elements, so a difference over any step is its gradient.
void check_zeros(std::vector<int> const& zeros, running which) {
  auto& m = processes<single>();
  parameter<double, alone, in> w{m, normal{1}};
  for (int at : zeros) w.data()[at] = 0;
  auto const probe = random_normal<double, alone, in>(m, {.seed = 2});
  auto const f     = [&] { return sum(cumprod<in>(w, which) * probe); };
  backward(f());
  auto const g = finish(gradient(w));
  for (extent i = 0; i < w.size; ++i) {
    no_gradient const guard{m};
    double const here = w.data()[i];
    w.data()[i]       = here + 1;
    double const up   = f().value();
    w.data()[i]       = here - 1;
    double const down = f().value();
    w.data()[i]       = here;
    INFO("element " << i << " with " << zeros.size() << " zeros, exclusive " << which.exclusive
                    << ", reverse " << which.reverse);
    CHECK(std::abs(g.data()[i] - (up - down) / 2) <= 1e-12);
  }
}

}  // namespace

TEST_CASE("the gradient of cumprod is right where elements are 0") {
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true}) {
      check_zeros({0}, {exclusive, reverse});
      check_zeros({2}, {exclusive, reverse});
      check_zeros({5}, {exclusive, reverse});
      check_zeros({1, 3}, {exclusive, reverse});
      check_zeros({0, 1, 2, 3, 4, 5}, {exclusive, reverse});
    }
}

TEST_CASE("cumprod of bfloat16 rounds once") {
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        see(cast<float>(cumprod<in>(random_uniform<bfloat16, L, batch, in>(m, {1}, 0.5, 1.5))));
      },
      1e-6);
}

TEST_CASE("cumprod along a split dimension") {
  check_operation<shape<batch, in>, shape<out, hidden>, shape<in, hidden, batch>>(
      [](auto const& x, auto const& y, auto const& z) {
        return std::tuple{cumprod<batch>(x), cumprod<hidden>(y, {.exclusive = true}),
                          cumprod<hidden>(z, {.reverse = true}),
                          cumprod<batch>(z * 2, {.exclusive = true, .reverse = true})};
      });
  check_operation_in_float<shape<in, hidden>>([](auto const& x) { return cumprod<hidden>(x); });
}

TEST_CASE("zeros in some parts of a split dimension do no harm to the gradient") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const draw = random_normal<double, L, in, hidden>(m, {.seed = 3});
    parameter<double, L, in, hidden> w{m};
    w                = where(greater(draw, -0.5), draw, 0.);  // about a third of them are 0
    auto const probe = random_normal<double, L, in, hidden>(m, {.seed = 4});
    backward(sum(cumprod<hidden>(w) * probe) +
             sum(cumprod<hidden>(w, {.exclusive = true, .reverse = true}) * probe));
    see(finish(gradient(w)));
  });
}

TEST_CASE("cumprod of a dimension that is not there is a verdict") {
  STATIC_REQUIRE(is_legal<cumsum_verdict<data, shape<batch, in>, batch>>);
  STATIC_REQUIRE(is_legal<cumsum_verdict<data, shape<batch, in>, in>>);
  STATIC_REQUIRE(std::same_as<cumsum_verdict<data, shape<batch>, in>, dim_is_not_in_tensor<in>>);
}
