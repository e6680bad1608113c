// A translation unit whose compilation is timed: a Transformer's training step that runs, under one layout,
// with its price.
#include "language_model.hpp"

#include <meshtf/training.hpp>

constexpr auto cost = meshtf::dry_run<unit::training, unit::mixed>();
static_assert(cost.peak_bytes() > 0);

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<unit::grid> m{env.world()};
  unit::training<unit::mixed> t{m};
  float loss = 0;
  for (int i = 0; i < 10; ++i) loss = t.step().value();
  return loss < 0;
}
