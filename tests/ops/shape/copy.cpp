// copy: storage of its own, and a gradient that passes through it unchanged.
#include <string>

#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

TEST_CASE("a copy of literal numbers") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = copy(x);
  backward(sum(z * z));
  CHECK(numbers_of(z) == list{1, 2, 3});
  CHECK(slopes_of(x) == list{2, 4, 6});
}

TEST_CASE("a copy has its operand's values, and hands its gradient on") {
  check_operation<shape<batch, hidden>>([](auto const& x) { return std::tuple{copy(x), copy(x) * x}; });
}

TEST_CASE("a parameter and its copy each count in the gradient") {
  auto& m = processes<single>();
  parameter<double, alone, in, hidden> const w{m, normal{1}};
  auto const loss = sum(w) + sum(copy(w));
  backward(loss);
  auto const g = finish(gradient(w));
  for (extent i = 0; i < g.size; ++i) CHECK(g.data()[i] == 2);
}

TEST_CASE("the gradient of a parameter's copy is a sum that waits, as the parameter's does") {
  constexpr auto price  = dry_run<mixed>([]<Layout L>(machine<L>& m) {
    parameter<double, L, in, hidden> const w{m};
    auto const loss = sum(einsum<batch, hidden>(tensor<double, L, batch, in>{m}, copy(w)));
    backward(loss);
    return finish(gradient(w));
  });
  constexpr auto direct = dry_run<mixed>([]<Layout L>(machine<L>& m) {
    parameter<double, L, in, hidden> const w{m};
    auto const loss = sum(einsum<batch, hidden>(tensor<double, L, batch, in>{m}, w));
    backward(loss);
    return finish(gradient(w));
  });
  STATIC_REQUIRE(price.calls() == direct.calls());
  STATIC_REQUIRE(price.bytes_sent() == direct.bytes_sent());
}

TEST_CASE("what a copy was made of may be written before backward, and the copy itself has the old values") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, in, hidden> w{m, normal{1}};
    auto const before = copy(w);
    auto const loss   = sum(square(before));
    w                 = w.without_slot() * 2;
    backward(loss);
    see(before);
    see(finish(gradient(w)));
  });
}

TEST_CASE("a partial sum is copied as one") {
  check_operation<shape<batch, hidden>, shape<hidden, out>>(
      [](auto const& x, auto const& w) { return finish(copy(partial_einsum<batch, out>(x, w))); });
}

TEST_CASE("a copy is booked to the line that asks for it") {
  ledger<two_by_two> m;
  tensor<double, dry<mixed>, batch, hidden> const x{m};
  auto const y = tanh(x);
  auto const z = copy(x);
  CHECK(std::string{m.now().operation} == "copy");
  CHECK(m.now().at.line() == __LINE__ - 2);
  static_cast<void>(argmax<hidden>(z));  // which copies too
  CHECK(std::string{m.now().operation} == "argmax");
}
