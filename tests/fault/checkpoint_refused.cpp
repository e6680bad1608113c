// Checkpoints that can't be saved or loaded end the whole job with one line: checkpoint_refused FOLDER WHY
//
// WHY       1 or 4 processes                                                           status
// missing   meshtf: expected a checkpoint at ..., got: No such file or directory               66
// foreign   meshtf: expected ... to have a header ..., the file is damaged or of another kind  65
// other     meshtf: expected 'v' ... got no array of that name but 'w' ...                     65
// later     meshtf: expected ... to hold no checkpoint later than ...                          64
// full      meshtf: expected to write the file ..., got: File too large: make room ...         69
#include "checkpoint.hpp"

#include <fstream>

template<meshtf::Layout L>
void run(boost::mpi::communicator const& world, std::string const& folder, std::string const& why) {
  meshtf::process_mesh<typename L::mesh_type> m{world};
  meshtf::parameter<float, L, in, out> w{m, meshtf::normal{1}};
  meshtf::adam opt;
  auto const list = parameters(named("w", w));
  if (m.rank() == 0) std::filesystem::remove_all(folder);
  if (why == "missing") load(list, opt, folder);
  save(list, opt, {2, 7}, folder);
  if (why == "foreign" && m.rank() == 0) std::ofstream{folder + "/step-00000002.safetensors"} << "this is not a safetensors file";
  if (why == "foreign") load(list, opt, folder);
  if (why == "other") load(parameters(named("v", w)), opt, folder);
  if (why == "later") save(list, opt, {1, 7}, folder);
  if (why == "full") {
    std::signal(SIGXFSZ, SIG_IGN);
    limit_files();
    save(list, opt, {3, 7}, folder);
  }
}
