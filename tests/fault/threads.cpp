// The number of threads, and how a program with several of them ends.
//
// MESHTF_CHECK abc:  meshtf: expected MESHTF_CHECK to be one of 0, 1, got 'abc': ... status 64, and so for
// other variables variable two:  meshtf: expected MESHTF_THREADS to be a number of threads for each process,
// at least 1, got 'two': ...          status 64 bound 2:       meshtf: expected MESHTF_THREADS to be at most
// 1, the cores that this process may use, got 2: ...               status 64 program 0:     meshtf: expected
// threads{n} to be a number of threads for each process, at least 1, got '0': ...                status 64
// thrown 1: meshtf: part 3 is wrong status 65 exits 1:       ends at once, which mpirun takes for a failure
// ends 1:        nothing
// status 0
#include <cstddef>
#include <cstdlib>
#include <string>

#include <sched.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/process_mesh.hpp>

namespace {

struct one : meshtf::axis<1> {};
struct alone : meshtf::mesh<one> {};

}  // namespace

int main(int argc, char** argv) {
  std::string const what   = argc > 1 ? argv[1] : "";
  std::string const number = argc > 2 ? argv[2] : "";
  bool const of_program    = what == "program";
  if (what.starts_with("MESHTF_")) {
    setenv(what.c_str(), number.c_str(), 1);
    meshtf::environment const env{argc, argv, {.report_kernels = false}};
    meshtf::process_mesh<alone> const m{MPI_COMM_SELF};
    return 0;
  }
  if (!of_program) setenv("MESHTF_THREADS", number.c_str(), 1);
  if (what == "bound") {
    cpu_set_t one;
    sched_getaffinity(0, sizeof one, &one);
    std::size_t core = 0;
    while (!CPU_ISSET(core, &one)) ++core;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  meshtf::environment const env{
      argc, argv, meshtf::threads{of_program ? std::atoi(number.c_str()) : 1}, {.report_kernels = false}};
  int const expected = of_program || what == "variable" ? std::atoi(number.c_str()) : 4;
  if (expected == 4) meshtf::kernel::use_threads(4);  // whatever this machine has
  meshtf::kernel::parallel_parts(16, [&](meshtf::extent part, int) {
    if (what == "thrown" && part >= 3) throw meshtf::data_error{"part " + std::to_string(part) + " is wrong"};
  });
  if (what == "exits") std::exit(0);  // within the environment, while the other threads wait
  return meshtf::kernel::thread_count() == expected ? 0 : 1;
}
