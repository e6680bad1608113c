// The state of optimizers in a checkpoint: training goes on as if nothing had happened.
#include <concepts>
#include <meshtf/io/checkpoint.hpp>

#include "../optim/model.hpp"
#include "folder.hpp"

using namespace optim;

namespace {

template<Layout L, class Optimizer>
void train(machine<L>& m, model_of<double, L>& net, Optimizer& opt) {
  auto const loss = net.loss(data_of<double, L>(m));
  backward(loss);
  opt.step(net.parameters());
}

/// Three steps in a row, and two of them, a checkpoint, and the third from it.
template<Layout L, class Optimizer>
void check_goes_on() {
  files::folder const folder;
  auto& m = processes<typename L::mesh_type>();
  model_of<double, L> net{m};
  model_of<double, L> later{m};
  Optimizer opt{0.02};
  Optimizer next{0.02};
  // whose factors are whole over replicas
  if constexpr (!std::same_as<Optimizer, adafactor>) opt.shard_state = true;
  if constexpr (requires { opt.least_factored; }) {
    opt.least_factored = next.least_factored = 7;  // some parameters have factors
    opt.beta1 = next.beta1 = 0.9;
  }
  train<L>(m, net, opt);
  train<L>(m, net, opt);
  save(net.parameters(), opt, {2, 0}, folder / "run");
  train<L>(m, net, opt);
  load(later.parameters(), next, folder / "run");
  train<L>(m, later, next);
  // the sums of gradients have another order where the state is whole, so another last bit
  CHECK(xt::allclose(to_global(net.w), to_global(later.w), 1e-12, 1e-14));
  CHECK(xt::allclose(to_global(net.c), to_global(later.c), 1e-12, 1e-14));
}

}  // namespace

TEST_CASE("momentum, Lion, LAMB, LARS and Adafactor go on from a checkpoint") {
  under_each_layout([]<Layout L> {
    check_goes_on<L, momentum>();
    check_goes_on<L, lion>();
    check_goes_on<L, lamb>();
    check_goes_on<L, lars>();
    check_goes_on<L, adafactor>();
  });
}
