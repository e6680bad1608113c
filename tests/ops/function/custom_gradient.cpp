// custom_gradient: the values of f, and the gradients that g computes, under every layout.
// test: processes 1 2 3 4
#include "../../layout_fixture.hpp"
#include "../../literal.hpp"

using namespace fixture;

namespace {

using x_of = tensor<double, mixed, batch, hidden>;
using w_of = tensor<double, mixed, hidden>;
template<class Wanted, class... Given>
using objection = typename meshtf::detail::gradients_objection<Wanted, std::tuple<Given...>>::type;
static_assert(is_legal<objection<std::tuple<x_of, w_of>, x_of, partial<w_of, axes<rows>>>>);
static_assert(std::same_as<objection<std::tuple<x_of, w_of>, x_of>, not_one_gradient_each<1, 2>>);
static_assert(std::same_as<objection<std::tuple<x_of, w_of>, x_of, x_of>,
                           gradient_has_other_dims<shape<batch, hidden>, shape<hidden>>>);
static_assert(std::same_as<objection<std::tuple<w_of>, partial<x_of, axes<rows>>>,
                           not_the_gradient_of<partial<x_of, axes<rows>>, w_of>>);
static_assert(std::same_as<objection<std::tuple<w_of>, tensor<float, mixed, hidden>>,
                           not_the_gradient_of<tensor<float, mixed, hidden>, w_of>>);

struct words : up_to<6> {};

}  // namespace

TEST_CASE("custom_gradient of literal numbers: the gradient is what is said") {
  if (!on_one_process()) return;
  auto const x = literal<trio>({1, 2, 3});
  auto const z = custom_gradient([](auto const& a) { return square(a); },
                                 [](auto const& dz, auto const&) { return dz * 10; }, x);
  backward(sum(z));
  CHECK(numbers_of(z) == list{1, 4, 9});
  CHECK(slopes_of(x) == list{10, 10, 10});
}

TEST_CASE("custom_gradient with the true gradients of a product: finished, partial, and as a tuple") {
  check_operation<shape<batch, in>, shape<in, hidden>>([](auto const& x, auto const& w) {
    return custom_gradient([](auto const& a, auto const& b) { return tanh(einsum<batch, hidden>(a, b)); },
                           [](auto const& dz, auto const& a, auto const& b) {
                             auto const slope = dz * (1 - square(tanh(einsum<batch, hidden>(a, b))));
                             return std::tuple{partial_einsum<batch, in>(slope, b),
                                               einsum<in, hidden>(a, slope)};
                           },
                           x, w);
  });
  check_operation<shape<batch, hidden>>([](auto const& x) {
    return custom_gradient([](auto const& a) { return exp(2 * a); },
                           [](auto const& dz, auto const& a) { return dz * exp(2 * a) * 2; }, x);
  });
}

TEST_CASE("custom_gradient with a gradient of its own, and an operand of integers") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> x{m, normal{1}};
    parameter<double, L, hidden> captured{m, normal{2}};
    auto const rank = argmax<hidden>(x);
    auto const z    = custom_gradient(
        [&](auto const& a, auto const&) { return a * captured; },
        [](auto const& dz, auto const&, auto const& r) { return dz * cast<double>(r); }, tanh(x), rank);
    see(z);
    backward(sum(z));
    see(finish(gradient(x)));
    see(finish(gradient(captured)));  // nothing flows to what is captured: zeros
  });
}

TEST_CASE("custom_gradient runs f without a tape, and g only where a gradient is wanted") {
  auto& m = processes<single>();
  if (boost::mpi::communicator{}.size() != 1) return;
  parameter<double, alone, out> w{m, normal{1}};
  int asked    = 0;
  auto const f = [](auto const& x) {
    CHECK(!x.machine().records_gradients());
    return x;
  };
  auto const g = [&asked](auto const& dz, auto const& x) {
    CHECK(!x.machine().records_gradients());
    ++asked;
    return 3 * dz;
  };
  CHECK(!custom_gradient(f, g, stop_gradient(w)).needs_gradient());
  CHECK(m.tape_is_empty());
  backward(sum(custom_gradient(f, g, w)));
  CHECK(asked == 1);
  CHECK(gradient(w).local_terms().local()(0) == 3);

  auto const late = sum(custom_gradient(f, g, w));
  w.local()(0)    = 1;
  CHECK_THROWS_AS(backward(late), stale_value);
}

TEST_CASE("a gradient that is a parameter itself, or dz, leaves the parameter's elements alone") {
  auto& m = processes<single>();
  if (boost::mpi::communicator{}.size() != 1) return;
  parameter<double, alone, words> w{m, constant{2}};
  parameter<double, alone, words> captured{m, constant{3}};
  tensor<double, alone, words> const weights = captured;
  {
    counted<words> const two{m, 2};
    auto const f = [](auto const& x) { return 2 * x; };
    backward(sum(custom_gradient(f, [](auto const&, auto const& x) { return x; }, w)));
    backward(sum(custom_gradient(f, [weights](auto const&, auto const&) { return weights; }, w)));
    backward(sum(custom_gradient(f, [](auto const& dz, auto const&) { return dz; }, w)));
    CHECK(gradient(w).local_terms().local()(0) == 6);
    CHECK(gradient(w).local_terms().local()(1) == 6);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::as_const(w).data()[i] == 2);
    CHECK(std::as_const(captured).data()[i] == 3);
  }
}
