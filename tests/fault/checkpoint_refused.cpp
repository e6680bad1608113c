// Checkpoints that can't be saved or loaded end the whole job with one line: checkpoint_refused FOLDER WHY
//
// WHY       1 or 4 processes                                                           status
// missing   meshtf: expected a checkpoint at ..., got: No such file or directory               66
// foreign   meshtf: expected ... to have a header ..., the file is damaged or of another kind  65
// other     meshtf: expected 'v' ... got no array of that name but 'w' ...                     65
// later     meshtf: expected ... to hold no checkpoint later than ...                          64
// full      meshtf: expected to write the file ..., got: File too large: make room ...         69
// taken     meshtf: expected one job to save in ..., got another that does (process ...) ...   64
#include "checkpoint.hpp"

#include <fstream>

#include <sys/prctl.h>
#include <unistd.h>

constexpr meshtf::checkpoint_options as_file{.in_parts = false};

/// A process that has the lock of a folder until the one that called this ends.
inline void let_another_take(std::string const& folder) {
  int ends[2];
  if (pipe(ends) != 0) throw meshtf::software_error{"no pipe"};
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    meshtf::detail::reserve_path(folder, 1, [](std::string const&) {});
    if (write(ends[1], "x", 1) == 1)
      for (;;) pause();
  }
  char done = 0;
  if (read(ends[0], &done, 1) != 1) throw meshtf::software_error{"the other job has failed"};
}

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string const& folder, std::string const& why) {
  meshtf::process_mesh<typename L::mesh_type> m{world};
  meshtf::parameter<float, L, in, out> w{m, meshtf::normal{1}};
  meshtf::adam opt;
  auto const list = parameters(named("w", w));
  if (m.rank() == 0) std::filesystem::remove_all(folder);
  if (why == "missing") load(list, opt, folder);
  if (why == "taken" && m.rank() == 0) let_another_take(folder);
  save(list, opt, {2, 7}, folder, as_file);
  if (why == "foreign" && m.rank() == 0)
    std::ofstream{folder + "/step-00000002.safetensors"} << "this is not a safetensors file";
  if (why == "foreign") load(list, opt, folder);
  if (why == "other") load(parameters(named("v", w)), opt, folder);
  if (why == "later") save(list, opt, {1, 7}, folder, as_file);
  if (why == "full") {
    std::signal(SIGXFSZ, SIG_IGN);
    limit_files();
    save(list, opt, {3, 7}, folder, as_file);
  }
}
