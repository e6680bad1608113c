// The handler stands outside the scope of the environment, where MPI is gone.
//
// One process: the handler runs.          meshtf: no such file: train.idx     status 66
// Several: the job ends before it does.   meshtf: no such file: train.idx     status 66
// With an argument only the last process throws, and several say: ... (process 3 of 4)
#include <iostream>

#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) try {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  if (argc == 1 || world.rank() == world.size() - 1) throw meshtf::no_input{"no such file: train.idx"};
  float x = 1;
  all_reduce(world, meshtf::reduction::sum, &x, 1);
} catch (meshtf::error const& e) {
  std::cerr << "meshtf: " << e.what() << "\n";
  return e.exit_status();
}
