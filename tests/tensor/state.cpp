// State: what a model keeps from step to step is written once a step, and no gradient reaches it.
// test: program ops2
#include "../layout_fixture.hpp"

using namespace fixture;

namespace {

/// A layer that keeps the mean of its inputs, and how often it was called.
template<Layout L>
struct with_state {
  parameter<double, L, hidden> w;
  state<double, L, hidden> running;
  state<int, L> calls;

  constexpr explicit with_state(machine<L>& m) : w{m, normal{1}}, running{m, constant{1}}, calls{m} {}
  constexpr auto operator()(tensor<double, L, batch, hidden> const& x) {
    auto const y = x * w - running * 1;
    running.update(running * 0.5 + mean<batch>(y) * 0.5);  // y needs a gradient, its mean is only copied
    calls.update(calls + 1);
    return square(y);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("w", w), named("running", running), named("calls", calls));
  }
};

}  // namespace

TEST_CASE("a state is written in steps that train, and not in evaluations") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    with_state<L> layer{m};
    auto const x = random_normal<double, L, batch, hidden>(m, {.seed = 7});
    sgd opt{0.1};
    for (int step = 0; step < 2; ++step) {
      auto const loss = mean(layer(x));
      backward(loss);
      see(finish(gradient(layer.w)));
      opt.step(parameters(layer));
    }
    {
      no_gradient const guard{m};
      see(layer(x));
      see(layer.calls);
      layer.calls = layer.calls + 10;  // an assignment is no step
    }
    see(layer.running);
    see(layer.calls);
  });
}

TEST_CASE("a state is written once where the function is computed again") {
  check_program([]<Layout L>(machine<L>& m, value_recorder const& see) {
    parameter<double, L, hidden> w{m, normal{1}};
    state<double, L, hidden> running{m};
    state<int, L> calls{m};
    auto const x    = random_normal<double, L, batch, hidden>(m, {.seed = 7});
    auto const loss = mean(recompute(
        [&](auto const& v) {
          auto const y = tanh(v * w);
          running.update(running * 0.5 + mean<batch>(y));
          calls = calls + 1;
          return y * y;
        },
        x));
    backward(loss);
    see(running);
    see(calls);
    see(finish(gradient(w)));
  });
}

TEST_CASE("how often a state was written, by value") {
  if (boost::mpi::communicator{}.size() != 1) return;
  auto& m = processes<single>();
  with_state<alone> layer{m};
  auto const x = random_normal<double, alone, batch, hidden>(m, {.seed = 7});
  backward(mean(layer(x)));
  {
    no_gradient const guard{m};
    layer(x);
  }
  CHECK(layer.calls.value() == 1);
  auto const loss = mean(recompute([&](auto const& v) { return layer(v); }, x));
  CHECK(layer.calls.value() == 2);
  backward(loss);
  CHECK(layer.calls.value() == 2);
  CHECK_FALSE(layer.running.needs_gradient());
}
