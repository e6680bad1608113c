// One process is killed while the others wait for it in an all-reduce: nothing of the library runs there, the
// launcher ends the job.
//
// 1 process: dies of signal 9 (a shell reports 137). 4 processes under mpirun: status 137, within seconds.
#include <csignal>

#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  if (world.rank() == 1 % world.size()) std::raise(SIGKILL);
  float x = 1;
  all_reduce(world, meshtf::reduction::sum, &x, 1);
}
