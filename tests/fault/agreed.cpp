// One process fails where all agree on the outcome: all throw its error, and the job ends with it.
//
// 1 process:   meshtf: train.idx has no labels                           status 65
// 4 processes: meshtf: train.idx has no labels (seen by process 1)       status 65
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  return meshtf::agreed(world, [&] {
    if (world.rank() == 1 % world.size()) throw meshtf::data_error{"train.idx has no labels"};
    return 0;
  });
}
