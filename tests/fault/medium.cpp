// The medium of a training's checkpoints fails between two of its saves: medium FOLDER POLICY COMMAND
//
// Four processes make three steps and save after each. Before the second save process 0 runs COMMAND, and
// before the third, if POLICY is `heals`, a second one: the argument after it.
//
// ends     nobody handles the error of the second save       status 69 and its line
// goes_on  all handle it, and the training comes to its end    status 0, `3 steps, 1 saved`
// heals    the third save is right, and loads                  status 0, `3 steps, 2 saved`
#include "training.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (argc < 4) throw meshtf::usage_error{"expected FOLDER POLICY COMMAND"};
  std::string const folder      = argv[1];
  std::string_view const policy = argv[2];
  training::net n;
  double const loss = n.step();
  int saved         = 0;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    bool const runs = step == 2 || (step == 3 && policy == "heals" && argc > 4);
    meshtf::agreed(n.world(), [&] {
      if (runs && n.rank() == 0 && std::system(argv[step + 1]) != 0)
        throw meshtf::software_error{"the command has failed"};
    });
    n.set(0);
    if (n.step() != loss) throw meshtf::software_error{"the training does not go on"};
    try {
      n.save_step(step, folder);
      ++saved;
    } catch (meshtf::unavailable const& e) {
      if (policy == "ends") throw;
      if (n.rank() == 0) std::fprintf(stderr, "meshtf: %s\n", e.what());
    }
  }
  if (n.rank() == 0) std::printf("3 steps, %d saved\n", saved);
  if (policy == "goes_on") return 0;
  n.load_from(folder);
  if (!n.has(3)) throw meshtf::software_error{"it has other values"};
}
