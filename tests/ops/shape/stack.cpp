// stack and unstack, under every layout.
// test: program ops2
#include <algorithm>

#include "../../zoo.hpp"

using namespace zoo;

namespace {

struct two : dim<2> {};
struct three : dim<3> {};

constexpr auto stacks = [](auto const& x, auto const& y, auto const& z) {
  return std::tuple{stack<three>(x, y, z), stack<two, 1>(x, y), stack<three, 2>(y, tanh(x), y)};
};

}  // namespace

TEST_CASE("stack along a first, a middle and a last dimension; of parameters the gradient stays open") {
  check_operation<shape<batch, hidden>, shape<batch, hidden>, shape<batch, hidden>>(stacks);
  check_operation_in_float<shape<batch>, shape<batch>>([](auto const& x, auto const& y) { return stack<two>(x, y); });
}

TEST_CASE("unstack along a first, a middle and a last dimension, of which not all are used") {
  check_operation<shape<three, hidden>, shape<batch, two, heads>, shape<in, three>>([](auto const& x, auto const& y, auto const& z) {
    auto const [a, b, c] = unstack<three>(x);
    auto const [d, e]    = unstack<two>(y);
    return std::tuple{a, b * c, e * e, std::get<1>(unstack<three>(z))};
  });
}

TEST_CASE("a stack of what was unstacked, and of numbers") {
  check_operation<shape<batch, three>>([](auto const& x) { return stack<three>(unstack<three>(x)); });
  check_operation<shape<batch>>([](auto const& x) {
    auto const a = sum(x), b = mean(x * x);
    return stack<two>(a, b);
  });
}

TEST_CASE("a stack along a split dimension: each process keeps its part, of open sums too") {
  // `hidden`, `heads` and `key` are split under many layouts, over axes that split the other dimensions nowhere
  check_operation<shape<length>, shape<length>>([](auto const& x, auto const& y) { return stack<left>(x, y, tanh(x), x * y, y, x, y, x); });
  check_operation_in_float<shape<in>, shape<in>>([](auto const& x, auto const& y) { return stack<heads, 1>(x, y, y, x, x, y, x, exp(y)); });
  check_program([]<Layout L>(machine<L>& m, witness const& see) {
    parameter<double, L, batch, in> w{m, normal{1}};
    auto const s = partial_einsum<in>(random_normal<double, L, batch>(m, {.seed = 2}), w);  // owes the axes of batch
    if constexpr (accepted<detail::open_verdict<L, shape<vocab>, detail::axes_owed_by<decltype(s)>>>) {
      auto const z = finish(stack<vocab>(s, 2.0 * s, s, s, s, s, s, 3.0 * s));
      see(z);
      backward(sum(z * z));
      see(finish(gradient(w)));
    }
  });
}

TEST_CASE("open sums are stacked and unstacked open") {
  check_program([]<Layout L>(machine<L>& m, witness const& see) {
    parameter<double, L, hidden, three> w{m, normal{1}};
    auto const x         = random_normal<double, L, batch, hidden>(m, {.seed = 2});
    auto const [a, b, c] = unstack<three>(partial_einsum<batch, three>(x, w));
    auto const z         = finish(stack<two>(a, c));
    see(z), see(finish(b));
    auto const loss = sum(z * z);
    backward(loss);
    see(finish(gradient(w)));
  });
}
