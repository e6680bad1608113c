// A program of benchmarks/ finds something wrong on one process, while arrays that nobody gives back are on
// its mesh and the others wait in an all-reduce.
//
// 1 process:   meshtf: sum, 16: element 3 is 1, expected 2                      status 70
// 4 processes: meshtf: sum, 16: element 3 is 1, expected 2 (process 1 of 4)     status 70
#include <stdexcept>

#include <meshtf/core/mesh.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/process_mesh.hpp>

#include "../../benchmarks/program.hpp"

namespace {

struct one : meshtf::mesh<> {};

void run() {
  meshtf::process_mesh<one> m{MPI_COMM_SELF};
  float* const x = m.take<float>(16);
  boost::mpi::communicator const world;
  if (world.rank() == 1 % world.size()) throw std::runtime_error{"sum, 16: element 3 is 1, expected 2"};
  all_reduce(world, meshtf::reduction::sum, x, 1);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_program(argc, argv, run); }
