// The handler stands outside the scope of the environment, where MPI is gone.
//
// One process: the handler runs.          meshtf: no such file: train.idx     status 66
// Several: the job ends before it does.   meshtf: no such file: train.idx     status 66
// With an argument only the last process throws, and several say: ... (process 3 of 4)
// With `handled` it is an exception of another library, after an error that was handled, whose words would be
// wrong:  meshtf: an exception of another library left the scope of meshtf::environment ...    status 70
#include <iostream>
#include <new>
#include <string_view>

#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/environment.hpp>

int main(int argc, char** argv) try {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  auto const world = env.world();
  if (argc > 1 && argv[1] == std::string_view{"handled"}) {
    try {
      throw meshtf::no_input{"no such file: train.idx"};
    } catch (meshtf::error const&) {
    }
    throw std::bad_alloc{};
  }
  if (argc == 1 || world.rank() == world.size() - 1) throw meshtf::no_input{"no such file: train.idx"};
  float x = 1;
  all_reduce(world, meshtf::reduction::sum, &x, 1);
} catch (meshtf::error const& e) {
  std::cerr << "meshtf: " << e.what() << "\n";
  return e.exit_status();
} catch (std::bad_alloc const&) {
  return 69;
}
