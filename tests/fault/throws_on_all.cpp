// All processes see the same error.
//
// Any number of processes: meshtf: compiled for 3 processes, started with <n>: mpirun -n 3 ...     status 64
#include <string>

#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  throw meshtf::usage_error{"compiled for 3 processes, started with " + std::to_string(env.world().size()) +
                            ": mpirun -n 3 ..."};
}
