// A translation unit whose compilation is timed: a perceptron's training step that runs, under three layouts,
// each with its price.
#include "mlp.hpp"

#include <meshtf/training.hpp>

template<meshtf::Layout L>
float train(meshtf::process_mesh<unit::grid>& m) {
  constexpr auto cost = meshtf::dry_run<unit::training, L>();
  static_assert(cost.bytes_sent() > 0);
  unit::training<L> t{m};
  float loss = 0;
  for (int i = 0; i < 10; ++i) loss = t.step().value();
  return loss;
}

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<unit::grid> m{env.world()};
  return train<unit::data_parallel>(m) + train<unit::model_parallel>(m) + train<unit::mixed>(m) < 0;
}
