// einsum of any number of operands, matmul and outer_product, under every layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("einsum of three operands, matmul and outer_product of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 3}, {4, 5, 6}});
  auto const w = literal<trio, key>({{1, 0}, {0, 1}, {1, 1}});
  auto const s = literal<duo>({1, 10});
  auto const z = einsum<key>(s, x, w);
  backward(sum(z));
  CHECK(numbers_of(z) == list{104, 115});
  CHECK(slopes_of(s) == list{9, 21});
  CHECK(numbers_of(matmul<trio>(x, w)) == list{4, 5, 10, 11});
  CHECK(numbers_of(outer_product(s, literal<trio>({1, 2, 3}))) == list{1, 2, 3, 10, 20, 30});
}

TEST_CASE("einsum of three operands: a chain, whatever its order") {
  check_operation<shape<batch, in>, shape<in, hidden>, shape<hidden, out>>(
      [](auto const& x, auto const& w, auto const& v) {
        return std::tuple{einsum<batch, out>(x, w, v), einsum<out, batch>(v, x, w)};
      });
}

TEST_CASE("einsum of four and five operands with dimensions that several share") {
  check_operation<shape<batch, in>, shape<in, hidden>, shape<hidden, out>, shape<batch>, shape<out>>(
      [](auto const& x, auto const& w, auto const& v, auto const& s, auto const& t) {
        return std::tuple{einsum<batch, out>(x, w, v, s), einsum<>(t, v, s, w, x)};
      });
}

TEST_CASE("einsum of one operand: a sum, a transpose, or both") {
  check_operation<shape<batch, in, hidden>>([](auto const& x) {
    return std::tuple{einsum<hidden, batch>(x), einsum<batch>(x), einsum<hidden, in, batch>(x), einsum<>(x)};
  });
}

TEST_CASE("einsum of three operands, one of them a partial sum") {
  check_operation<shape<batch, hidden>, shape<hidden, out>, shape<out, in>, shape<in>>(
      [](auto const& x, auto const& w, auto const& v, auto const& t) {
        return finish(einsum<batch>(v, partial_einsum<batch, out>(x, w), t));
      });
}

TEST_CASE("matmul and outer_product") {
  check_operation<shape<batch, in>, shape<in, hidden>, shape<batch, hidden>>(
      [](auto const& x, auto const& w, auto const& y) {
        return std::tuple{matmul<in>(x, w), matmul<hidden>(y, w),
                          matmul<batch, hidden>(y, outer_product(sum<hidden>(w), y))};
      });
}
