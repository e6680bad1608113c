// stack and unstack, under every layout.
// test: program ops2
#include <algorithm>
#include <string>
#include <vector>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

struct two : dim<2> {};
struct three : dim<3> {};

constexpr auto stacks = [](auto const& x, auto const& y, auto const& z) {
  return std::tuple{stack<three>(x, y, z), stack<two, 1>(x, y), stack<three, 2>(y, tanh(x), y)};
};

}  // namespace

TEST_CASE("stack and unstack of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const y = literal<trio>({4, 5, 6});
  auto const z = stack<duo>(x, y);
  backward(sum(z * z));
  CHECK(numbers_of(z) == list{1, 2, 3, 4, 5, 6});
  CHECK(slopes_of(y) == list{8, 10, 12});
  CHECK(numbers_of(stack<duo, 1>(x, y)) == list{1, 4, 2, 5, 3, 6});
  CHECK(numbers_of(std::get<1>(unstack<duo>(z))) == list{4, 5, 6});
}

TEST_CASE("stack along a first, a middle and a last dimension; of parameters the gradient stays unreduced") {
  check_operation<shape<batch, hidden>, shape<batch, hidden>, shape<batch, hidden>>(stacks);
  check_operation_in_float<shape<batch>, shape<batch>>(
      [](auto const& x, auto const& y) { return stack<two>(x, y); });
}

TEST_CASE("unstack along a first, a middle and a last dimension, of which not all are used") {
  check_operation<shape<three, hidden>, shape<batch, two, heads>, shape<in, three>>(
      [](auto const& x, auto const& y, auto const& z) {
        auto const [a, b, c] = unstack<three>(x);
        auto const [d, e]    = unstack<two>(y);
        return std::tuple{a, b * c, e * e, std::get<1>(unstack<three>(z))};
      });
}

TEST_CASE("a stack of what was unstacked, and of numbers") {
  check_operation<shape<batch, three>>([](auto const& x) { return stack<three>(unstack<three>(x)); });
  check_operation<shape<batch>>([](auto const& x) {
    auto const a = sum(x);
    auto const b = mean(x * x);
    return stack<two>(a, b);
  });
}

TEST_CASE("a stack along a split dimension: each process keeps its part, of partial sums too") {
  // `hidden`, `heads` and `key` are split under many layouts, over axes that split the other dimensions
  // nowhere
  check_operation<shape<length>, shape<length>>(
      [](auto const& x, auto const& y) { return stack<left>(x, y, tanh(x), x * y, y, x, y, x); });
  check_operation_in_float<shape<in>, shape<in>>(
      [](auto const& x, auto const& y) { return stack<heads, 1>(x, y, y, x, x, y, x, exp(y)); });
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, in> w{m, normal{1}};
    // is unreduced over the axes of batch
    auto const s = partial_einsum<in>(random_normal<double, L, batch>(m, {.seed = 2}), w);
    if constexpr (accepted<
                      detail::partial_sum_verdict<L, shape<vocab>, detail::unreduced_axes_in<decltype(s)>>>) {
      auto const z = finish(stack<vocab>(s, 2.0 * s, s, s, s, s, s, 3.0 * s));
      see(z);
      backward(sum(z * z));
      see(finish(gradient(w)));
    }
  });
}

TEST_CASE("partial sums are stacked and unstacked open") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, hidden, three> w{m, normal{1}};
    auto const x         = random_normal<double, L, batch, hidden>(m, {.seed = 2});
    auto const [a, b, c] = unstack<three>(partial_einsum<batch, three>(x, w));
    auto const z         = finish(stack<two>(a, c));
    see(z);
    see(finish(b));
    auto const loss = sum(z * z);
    backward(loss);
    see(finish(gradient(w)));
  });
}

TEST_CASE("a stack of a vector that a loop has made") {
  check_operation<shape<batch, hidden>, shape<batch, hidden>>([](auto const& x, auto const& y) {
    std::vector states{x};
    while (states.size() < three::size) states.push_back(states.back() * y);
    return std::tuple{stack<three>(states), stack<three, 2>(states), stack<two, 1>(std::vector{y, x})};
  });
  check_operation_in_float<shape<batch>>([](auto const& x) { return stack<two>(std::vector{x, tanh(x)}); });
  // `left` is split: each process keeps its part
  check_operation<shape<length>, shape<length>>([](auto const& x, auto const& y) {
    return stack<left>(std::vector{x, y, tanh(x), x * y, y, x, y, x});
  });
}

TEST_CASE("a vector of parameters, and one of partial sums") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    std::vector<parameter<double, L, batch, in>> weights;
    for (unsigned seed = 1; seed <= 2; ++seed) weights.emplace_back(m, normal{seed});
    auto const x    = random_normal<double, L, batch>(m, {.seed = 3});
    auto const s    = partial_einsum<in>(x, weights[0]);
    auto const t    = partial_einsum<in>(x, weights[1]);
    auto const sums = finish(stack<two>(std::vector{s, 2.0 * t}));
    auto const z    = stack<two>(weights);
    see(sums);
    see(z);
    auto const of_weights = sum(z * z);  // apart: g++ computes operands in another order in a dry run
    auto const of_sums    = sum(sums * sums);
    backward(of_weights + of_sums);
    for (auto& w : weights) see(finish(gradient(w)));
  });
}

TEST_CASE("a vector of another number of tensors is refused") {
  auto& m = processes<single>();
  tensor<double, alone, batch> const x{m};
  auto const refusal = [&](std::size_t n) {
    try {
      auto const z = stack<three>(std::vector(n, x));
    } catch (software_error const& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(refusal(2).starts_with(
      "expected stack<three> to get 3 tensors, one for each element of three, got a vector of 2: stack as "
      "many"));
  CHECK(refusal(0).find("got a vector of 0") != std::string::npos);
}
