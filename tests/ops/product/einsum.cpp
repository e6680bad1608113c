// einsum, partial sums and what makes tensors of them, under every layout.
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

/// `x` as a local term of the sum that is open in `p`.
template<class V, class... A, class X>
constexpr auto counted_once_like(partial<V, axes<A...>> const&, X const& x) {
  return as_partial<A...>(x);
}

}  // namespace

TEST_CASE("einsum of literal numbers: a product of matrices, and a sum over what the result lacks") {
  if (!on_one_process()) return;
  auto const x = literal<duo, trio>({{1, 2, 3}, {4, 5, 6}});
  auto const w = literal<trio, key>({{1, 0}, {0, 1}, {1, 1}});
  auto const z = einsum<duo, key>(x, w);
  backward(sum(z));
  CHECK(numbers_of(z) == list{4, 5, 10, 11});
  CHECK(slopes_of(x) == list{1, 1, 2, 1, 1, 2});
  CHECK(slopes_of(w) == list{5, 5, 7, 7, 9, 9});
  CHECK(numbers_of(einsum<trio>(x, x)) == list{17, 29, 45});
}

// The table of the unreduced axes of each gradient, in the order of its rows; other operations' rows stand
// with these operations.

TEST_CASE(
    "einsum, a free dimension of the parameter split: x is unreduced over its axes, the parameter those of "
    "the batch") {
  check_operation<shape<batch, in>, shape<in, hidden>>(
      [](auto const& x, auto const& w) { return einsum<batch, hidden>(x, w); });
}

TEST_CASE("einsum, the summed dimension split: x needs no reduction") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>(
      [](auto const& x, auto const& w) { return einsum<batch, out>(x, w); });
}

TEST_CASE("einsum with dimensions in both operands and the result, as attention has them") {
  check_operation<shape<batch, length, heads, key>, shape<batch, memory, heads, key>>(
      [](auto const& q, auto const& k) { return einsum<batch, heads, length, memory>(q, k); });
}

TEST_CASE("einsum over several dimensions, with the result transposed") {
  check_operation<shape<batch, heads, key>, shape<heads, key, out>>(
      [](auto const& x, auto const& w) { return einsum<out, batch>(x, w); });
}

TEST_CASE("einsum over dimensions that one operand alone has, outer products, scalar products") {
  check_operation<shape<batch, hidden>, shape<in, batch>, shape<in>>(
      [](auto const& x, auto const& y, auto const& a) {
        return std::tuple{einsum<batch>(x, y), einsum<in, batch>(a, y),
                          einsum<hidden, in>(a, einsum<hidden>(x, x)), einsum<>(x, x)};
      });
}

TEST_CASE("finish of a partial einsum, and of linear functions of it: nothing to reduce") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<batch, out>(x, w);
    auto const q = -p;
    auto const r = 1.5 * q / 3;
    auto const s = p * 2;
    return std::tuple{finish(p), finish(q + s), finish(r - s), finish(finish(p))};
  });
}

TEST_CASE("a partial sum times a tensor: the tensor's gradient is unreduced over the same axes, too") {
  check_operation<shape<batch, hidden>, shape<hidden, out>, shape<out>, shape<batch>, shape<>>(
      [](auto const& x, auto const& w, auto const& c, auto const& s, auto const& t) {
        auto const p = partial_einsum<batch, out>(x, w);
        auto const a = p * c;
        auto const b = s * a;
        return std::tuple{finish(a), finish(b * t)};
      });
}

TEST_CASE("a partial sum plus a tensor that counts once: nothing to reduce") {
  check_operation<shape<batch, hidden>, shape<hidden, out>, shape<batch, out>>(
      [](auto const& x, auto const& w, auto const& r) {
        auto const p = partial_einsum<batch, out>(x, w);
        auto const q = counted_once_like(p, r);
        return std::tuple{finish(p + q), finish(q - p), finish(q)};
      });
}

TEST_CASE("a partial sum under another layout: a reduce-scatter, after an all-gather of the gradient") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<batch, out>(x, w);
    return reshard<typename targets_of<layout_of<std::remove_cvref_t<decltype(x)>>>::scattered>(p);
  });
  check_operation<shape<batch, hidden>, shape<hidden, out>>([](auto const& x, auto const& w) {
    auto const p = partial_einsum<batch, out>(x, w);
    return reshard<layout_of<std::remove_cvref_t<decltype(x)>>>(p);
  });
}

TEST_CASE("einsum in single precision") {
  check_operation_in_float<shape<batch, in>, shape<in, hidden>, shape<hidden, out>>(
      [](auto const& x, auto const& w, auto const& v) {
        auto const h = einsum<batch, hidden>(x, w);
        return einsum<out, batch>(h, v);
      });
}
