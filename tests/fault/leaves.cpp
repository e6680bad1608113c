// One process leaves by exit(STATUS) while the others wait for it in an all-reduce: nothing of the library
// runs there, the launcher ends the job.
//
//   leaves STATUS   under examples/processes 4: meshtf: expected 4 processes to run to their end, got one
//                   that ended early ...
#include <cstdlib>

#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  if (world.rank() == 1 % world.size()) std::exit(argc > 1 ? std::atoi(argv[1]) : 0);
  float x = 1;
  all_reduce(world, meshtf::reduction::sum, &x, 1);
}
