// A job that is killed while it saves loses nothing: checkpoint_killed FOLDER WHEN
//
// WHEN      1 or 4 processes: saves step 1 in an empty FOLDER, and then step 2, in which process 0 dies
// write     in the middle of the file: a limit on the size of files, and its signal           killed by
// SIGXFSZ, status 153 rename    when the file is whole, before it has its name
// killed by SIGKILL, status 137 resume    loads what is in FOLDER after that: step 1 with its values; saves
// step 3          status 0
#include "checkpoint.hpp"

#include <fcntl.h>

namespace {
bool dies_in_rename = false;
}

// The program's own, which libraries find before the system's.
extern "C" int rename(char const* from, char const* to) noexcept {
  if (dies_in_rename) std::raise(SIGKILL);
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string const& folder, std::string const& when) {
  meshtf::process_mesh<typename L::mesh_type> m{world};
  meshtf::parameter<float, L, in, out> w{m, meshtf::normal{1}};
  meshtf::adam opt;
  auto const list = parameters(named("w", w));
  if (when == "resume") {
    auto const expected = to_global(w);
    w                   = meshtf::tensor<float, L, in, out>{m};
    auto const position = load(list, opt, folder);
    if (position != meshtf::training_position{1, 7} || to_global(w) != expected)
      throw meshtf::software_error{"step 1 is not what it was, after " + std::to_string(position.step)};
    save(list, opt, {3, 7}, folder);
    return;
  }
  if (m.rank() == 0) std::filesystem::remove_all(folder);
  save(list, opt, {1, 7}, folder);
  backward(sum(w));
  opt.step(list);
  if (when == "rename") dies_in_rename = true;
  if (when == "write") limit_files();
  save(list, opt, {2, 7}, folder);
}
