// What goes on around operations: how gradients add up, optimizers, initialisers, random numbers, casts;
// under every layout.
#if __has_include(<xtensor/views/xview.hpp>)  // since 0.26
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xview.hpp>
#endif

#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

template<class L>
constexpr auto some_data(machine<L>& m) {
  return random_normal<double, L, batch, in>(m, {.seed = 21});
}

/// Two layers with a bias and a temperature, whose first weight is used again on the way out.
template<Layout L>
struct tied {
  parameter<double, L, in, hidden> w;
  parameter<double, L, hidden> b;
  parameter<double, L> t;

  constexpr explicit tied(machine<L>& m)
      : w{m, glorot_uniform{1}}, b{m, normal{2, 0.1}}, t{m, constant{0.5}} {}
  constexpr auto parameters() { return meshtf::parameters(w, b, t); }

  constexpr auto loss(tensor<double, L, batch, in> const& x) const {
    auto const h = tanh(einsum<batch, hidden>(x, w) + b);
    auto const y = einsum<batch, in>(h * t, w);
    return mean(square(y - x));
  }
};

template<Layout L>
constexpr void show_gradients(tied<L>& net, value_recorder const& see) {
  net.parameters().for_each([&](auto& p) { see(finish(gradient(p))); });
}

template<class L>
void show_whole(tensor<double, L, batch, length, hidden> const& x, value_recorder const& see) {
  auto const whole  = to_global(x);
  auto const turned = to_global(transpose<hidden, batch, length>(x));
  see(from_global<double, L, batch, length, hidden>(x.machine(), whole));
  see(from_global<double, L, hidden, batch, length>(x.machine(), turned));
  see(from_global<double, L, batch, hidden>(x.machine(), xt::view(whole, xt::all(), 1, xt::all())));
  CHECK(whole(5, 2, 11) == turned(11, 5, 2));
}

template<class Optimizer>
struct three_steps {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    tied<L> net{m};
    Optimizer opt{0.1};
    auto const x = some_data<L>(m);
    for (int i = 0; i < 3; ++i) {
      auto const loss = net.loss(x);
      see(loss);
      backward(loss);
      opt.step(net.parameters());
    }
    see(net.w);
    see(net.b);
    see(net.t);
  }
};

}  // namespace

TEST_CASE(
    "a tied weight, a bias and a temperature, and the weights' own squares: the unreduced axes differ "
    "between "
    "uses and is merged") {
  check_operation<shape<batch, in>, shape<in, hidden>, shape<hidden>, shape<>>(
      [](auto const& x, auto const& w, auto const& b, auto const& t) {
        auto const h = tanh(einsum<batch, hidden>(x, w) + b);
        auto const y = einsum<batch, in>(h * t, w);
        return std::tuple{mean(square(y)), sum(square(w)), sum(square(b)), square(t), sum(x * x)};
      });
}

TEST_CASE("a scalar used twice, in places that are unreduced over different axes") {
  check_operation<shape<>, shape<batch>, shape<hidden>>([](auto const& t, auto const& x, auto const& y) {
    auto const s = t + t;
    return std::tuple{x * s, s * y, s * s};
  });
}

TEST_CASE("the global norm of gradients is the norm of finished gradients") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    tied<L> net{m};
    {
      auto const loss = net.loss(some_data<L>(m));
      backward(loss);
    }
    no_gradient const guard{m};
    net.parameters().for_each([&](auto& p) { see(sum(square(finish(gradient(p))))); });
  });
}

TEST_CASE("gradients of micro-batches add up; their unreduced axes do, too") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    tied<L> net{m};
    for (int i = 0; i < 2; ++i) {
      auto const loss = net.loss(some_data<L>(m) * (i + 1));
      backward(loss);
    }
    show_gradients(net, see);
    {
      auto const decay = sum(square(net.w));  // needs no reduction, and the rest does
      backward(decay);
    }
    show_gradients(net, see);
    zero_gradients(net.parameters());
    show_gradients(net, see);
  });
}

TEST_CASE("a parameter that nothing used has a gradient of zeros that needs no reduction") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> used{m, normal{1}};
    parameter<double, L, batch, hidden> unused{m, normal{2}};
    auto const loss = sum(used);
    backward(loss);
    see(finish(gradient(used)));
    auto const g = gradient(unused);
    if (g.owed() != 0) throw "it is unreduced";
    see(finish(g));
    see(finish(finish(g)));
  });
}

TEST_CASE("no gradient goes through stop_gradient, int or no_gradient") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, batch, hidden> w{m, normal{1, 3}};
    auto const fixed      = stop_gradient(exp(w));
    auto const whole      = cast<double>(cast<int>(w));
    auto const unrecorded = [&] {
      no_gradient const guard{m};
      return w * 3;
    }();
    if (fixed.needs_gradient() || whole.needs_gradient() || unrecorded.needs_gradient())
      throw "it needs a gradient";
    auto const a    = w * fixed;
    auto const b    = a * whole;
    auto const loss = sum(b * unrecorded);
    see(loss);
    backward(loss);
    see(finish(gradient(w)));
  });
}

TEST_CASE("cast between floating types: the gradient is cast back and stays unreduced") {
  check_program(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        parameter<double, L, in, hidden> w{m, normal{1}};
        auto const x    = cast<float>(some_data<L>(m));
        auto const z    = einsum<batch, hidden>(x, cast<float>(w));
        auto const u    = cast<double>(z);
        auto const loss = sum(square(u));
        see(z);
        backward(loss);
        see(finish(gradient(w)));
        see(cast<int>(u));
      },
      1e-5);
}

TEST_CASE("a copy has values of its own") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, in, hidden> w{m, normal{1}};
    auto const before = copy(w);
    w                 = w.without_slot() * 2;
    see(before);
    see(w);
  });
}

TEST_CASE("to_global gives every process the whole, and from_global takes it apart again") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    auto const x = random_normal<double, L, batch, length, hidden>(m, {.seed = 4});
    if constexpr (!is_dry<L>)
      if (see.seen != nullptr) show_whole(x, see);  // not while the price is counted: to_global sends
  });
}

TEST_CASE("parameters start alike under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(parameter<double, L, in, hidden>{m, normal{1, 2, 3}});
    see(parameter<double, L, hidden, out>{m, he_normal{2}});
    see(parameter<double, L, batch, length, hidden>{m, glorot_uniform{3}});
    see(parameter<float, L, hidden, batch>{m, normal{4}});
    see(parameter<double, L, hidden>{m, constant{0.5}});
    see(parameter<double, L, hidden>{m, zeros{}});
    see(parameter<double, L, hidden>{m});
  });
}

TEST_CASE("random numbers are the same under every layout") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    see(random_uniform<double, L, batch, length, hidden>(m, {.seed = 1, .stream = 2}, -1, 3));
    see(random_uniform<float, L, hidden, batch>(m, {.seed = 1}));
    auto const x = random_normal<double, L, batch, length, hidden>(m, {.seed = 3});
    see(x);
    see(random_normal<float, L, in, batch>(m, {.seed = 3}, 5, 0.1));
    see(random_normal<double, L, batch, length, hidden>(m, {.seed = 3, .stream = 1}));
  });
}

TEST_CASE("random numbers have the mean and the variance that were asked for") {
  auto& m      = processes<single>();
  auto const u = random_uniform<double, alone, batch, length, hidden, vocab>(m, {.seed = 1}, -1, 3);  // 4096
  auto const x = random_normal<double, alone, batch, length, hidden, vocab>(m, {.seed = 2}, 5, 2);
  CHECK(std::abs(mean(u).value() - 1) < 0.1);
  CHECK(std::abs(mean(square(u - 1)).value() - 16. / 12) < 0.1);
  CHECK(std::abs(mean(x).value() - 5) < 0.15);
  CHECK(std::abs(mean(square(x - 5)).value() - 4) < 0.4);
  CHECK(-max(-u).value() >= -1);
  CHECK(max(u).value() < 3);
}

TEST_CASE("three steps of SGD and of Adam, under every layout the same") {
  check_program(three_steps<sgd>{});
  check_program(three_steps<adam>{});
}

TEST_CASE("three steps in single precision") {
  check_program_under_two(
      []<Layout L>(machine<L>& m, value_recorder const& see) {
        parameter<float, L, in, hidden> w{m, glorot_uniform{1}};
        adam opt{0.01};
        auto const x = random_normal<float, L, batch, in>(m, {.seed = 21});
        for (int i = 0; i < 3; ++i) {
          auto const loss = mean(square(einsum<batch, hidden>(x, w)));
          backward(loss);
          opt.step(parameters(w));
        }
        see(w);
      },
      1e-5);
}
