// broadcast: further dimensions along which a tensor is the same everywhere, under every layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("broadcast of literal numbers: the same in each row") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = broadcast<duo, trio>(x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 2, 3, 1, 2, 3});
  CHECK(slopes_of(x) == list{2, 2, 2});
}

TEST_CASE(
    "broadcast to split and whole dimensions, in any order: the gradient is unreduced over the axes of the "
    "new ones") {
  check_operation<shape<batch, in>, shape<hidden>, shape<>>([](auto const& x, auto const& b, auto const& t) {
    return std::tuple{broadcast<batch, in, hidden>(x),
                      broadcast<hidden, in, length, batch>(x),
                      broadcast<in, batch>(x),
                      broadcast<batch, in>(x),
                      broadcast<length, hidden>(b),
                      broadcast<hidden, batch>(t),
                      broadcast<>(t)};
  });
}

TEST_CASE("operands that are broadcast to one another when told so") {
  check_operation<drawn{2, 0.2}, shape<batch, in>, shape<in, hidden>>([](auto const& x, auto const& y) {
    auto const wide = broadcast<batch, in, hidden>(x);
    return std::tuple{wide + y, y - wide, x * broadcast<hidden, batch, in>(y),
                      broadcast<in, hidden, batch>(y) / x};
  });
}

TEST_CASE("of three operands, the one that has all dimensions may stand anywhere") {
  check_operation<drawn{2, 0.2}, shape<batch, hidden>, shape<hidden>, shape<batch>>(
      [](auto const& x, auto const& b, auto const& s) {
        auto const f  = [](auto u, auto v, auto w) { return u * v + w * w; };
        auto const df = [](auto u, auto v, auto w) { return std::array{v, u, 2 * w}; };
        return std::tuple{map(f, df, x, b, s), map(f, df, b, s, x), map(f, df, s, x, b),
                          where(less(b, 2), s, x), where(less(x, 2), s, b)};
      });
}

TEST_CASE("images of a parameter, broadcast: the gradient stays unreduced, and is used with another") {
  check_operation<shape<hidden>>([](auto const& b) {
    auto const wide = broadcast<batch, hidden>(b * 2);
    return std::tuple{wide * wide, square(broadcast<hidden, batch, in>(wide)), wide};
  });
}

TEST_CASE("a partial sum stays partial where it is broadcast") {
  check_operation<shape<in, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<in, out>(x, w);
    return std::tuple{finish(broadcast<memory, out, in>(p)), finish(broadcast<out, in>(p) * 2)};
  });
}

TEST_CASE("broadcast in single precision") {
  check_operation_in_float<shape<batch>>([](auto const& x) { return broadcast<in, hidden, batch>(x); });
}
