// One process throws while the others wait for it in an all-reduce.
//
// 1 process:   meshtf: the disk is full                      status 70
// 4 processes: meshtf: the disk is full (process 1 of 4)     status 70, within seconds
// With the argument `memory` it is a std::bad_alloc: meshtf: out of memory: ...      status 69
// Under `mpirun --quiet`, or with OMPI_MCA_orte_execute_quiet=1, this is all that stderr has.
#include <new>
#include <stdexcept>

#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  if (world.rank() == 1 % world.size()) {
    if (argc > 1) throw std::bad_alloc{};
    throw std::runtime_error{"the disk is full"};
  }
  float x = 1;
  all_reduce(world, meshtf::reduction::sum, &x, 1);
}
