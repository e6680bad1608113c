// Programs whose functions are called in some way, recomputed or spilled, that must have the bits of those
// called as they are.
#pragma once

#include <string>

#include "../../layout_fixture.hpp"

namespace fixture {

/// How the functions of these programs are called: as they are.
struct plain {
  static constexpr void prepare(auto&) {}
  template<class F, class... X>
  static constexpr auto call(F&& f, X const&... x) {
    return f(detail::argument(x)...);
  }
};
/// Four layers, each of which makes three values of 8 times its input's size; dropout, norms and sums over
/// processes are in them.
template<class How>
struct training {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    How::prepare(m);
    parameter<double, L, batch, in> x{m, normal{1}};
    parameter<double, L, in, hidden> w{m, normal{2}};
    parameter<double, L, hidden, in> v{m, normal{3}};
    parameter<double, L, in> scale{m, constant{1}};
    tensor<double, L, batch, in> h = tanh(x);
    for (std::uint64_t i = 0; i < 4; ++i) {
      auto const block = [&, i](auto const& a) {
        auto const y = gelu(einsum<batch, hidden>(rms_norm<in>(a, scale), w));
        auto const z = dropout(square(y) + y, 0.25, {.seed = 7, .stream = i});
        return einsum<batch, in>(z, v) + a;
      };
      auto next = How::call(block, h);
      h         = std::move(next);
    }
    see(h);
    backward(mean(square(h)));
    see(finish(gradient(x)));
    see(finish(gradient(w)));
    see(finish(gradient(v)));
    see(finish(gradient(scale)));
  }
};

/// Everything else: several results, one of them of integers, a partial sum as result and as argument, a
/// linear image of a parameter, one function within another, a result that nobody uses, a function that hands
/// its argument on, and a model.
template<Layout L>
struct scaled_model {
  parameter<double, L, hidden> scale;
  constexpr explicit scaled_model(machine<L>& m) : scale{m, normal{4}} {}
  constexpr auto parameters() { return meshtf::parameters(scale); }
  template<class X>
  constexpr auto operator()(X const& x) const {
    return tanh(x * scale);
  }
};

template<class How>
struct corners {
  template<Layout L>
  constexpr void operator()(machine<L>& m, value_recorder const& see) const {
    How::prepare(m);
    parameter<double, L, batch, hidden> x{m, normal{1}};
    parameter<double, L, hidden, out> w{m, normal{2}};
    parameter<double, L, out> b{m, normal{3}};
    scaled_model<L> model{m};
    auto const several = How::call(
        [](auto const& a, auto const& c) {
          auto const p = partial_einsum<batch, out>(a, c);
          return std::tuple{exp(a), argmax<hidden>(a), p, tanh(a)};
        },
        x, w);
    auto const [grown, where, open, unused] = several;
    auto const image                        = How::call([](auto const& a) { return 2 * a; }, b);
    auto const same                         = How::call([](auto const& a) { return a; }, b);
    auto const nested                       = How::call(
        [&](auto const& a) {
          return square(How::call([&](auto const& c) { return tanh(c) * image; }, a)) + b;
        },
        finish(open));
    auto const doubled  = How::call([](auto const& p, double factor) { return factor * p; }, open, 1.5);
    auto const modelled = How::call(model, x);
    see(nested);
    see(where);
    see(modelled);
    auto const first  = sum(nested);
    auto const second = sum(grown);
    auto const third  = sum(finish(doubled));
    auto const fourth = sum(image * same);
    auto const fifth  = sum(modelled * x);
    auto const total  = first + second + third + fourth + fifth;
    backward(total);
    see(finish(gradient(x)));
    see(finish(gradient(w)));
    see(finish(gradient(b)));
    see(finish(gradient(model.scale)));
  }
};

template<template<class> class Program, class How>
void compare_bits() {
  under_each_layout([]<Layout L> {
    compare(run<L>(Program<How>{}), run<L>(Program<plain>{}), 0,
            std::string{name_of<L>()} + ", against f(x)");
  });
}
template<template<class> class Program, class How>
void check_same_bits() {
  check_program(Program<How>{});
  compare_bits<Program, How>();
}

}  // namespace fixture
