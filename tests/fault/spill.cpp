// Arrays that leave memory for a file that can't be: spill WHAT [FOLDER]
//
//   folder    meshtf: expected a folder for arrays that leave memory, got 'FOLDER': ...       status 69
//   full      meshtf: expected room for ... more bytes in FOLDER ... (seen by process N)      status 69
//   memory    meshtf: arrays leave for FOLDER, which is memory: ...                           status 0
//   nameless  nothing: FOLDER is empty while arrays are away, so nothing is left of a process that is killed
//   late      meshtf: expected spill_to before the first array leaves memory, ...             status 64
#include <csignal>
#include <filesystem>
#include <string>

#include <sys/resource.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/ops/function/spill.hpp>
#include <meshtf/ops/pointwise/exp.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/ops/reduce/sum.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/run_on.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>
#include <meshtf/tensor/tape.hpp>

namespace {

// clang-format off
struct rows  : meshtf::dim<256> {};
struct width : meshtf::dim<1024> {};
struct one   : meshtf::axis<1> {};
struct four  : meshtf::axis<4> {};
struct alone    : meshtf::mesh<one> {};
struct together : meshtf::mesh<four> {};
template<class M, class A> struct split : meshtf::layout<M, meshtf::split<rows, A>> {};
// clang-format on

template<meshtf::Layout L, class M>
void run(meshtf::process_mesh<M>& m, std::string const& what, std::string const& folder) {
  meshtf::parameter<float, L, rows, width> w{m, meshtf::constant{0.1}};
  if (what == "full" && m.rank() == M::size - 1) {
    rlimit const limit{.rlim_cur = 4096, .rlim_max = 4096};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!folder.empty()) m.spill_to(folder);
  auto const grown = [](auto const& x) { return square(exp(x)); };
  auto const z     = meshtf::spill(grown, meshtf::spill(grown, exp(w)));
  if (what == "late") m.spill_to(folder);
  if (what == "nameless" && (m.spill_file_bytes() == 0 || !std::filesystem::is_empty(folder)))
    throw meshtf::software_error("expected an empty folder and a file without a name, got others");
  backward(sum(z));
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what   = argc > 1 ? argv[1] : "";
  std::string const folder = argc > 2 ? argv[2] : "";
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  if (what == "nameless") std::filesystem::create_directory(folder);
  meshtf::run_on<alone, together>(env, [&]<class M>(meshtf::process_mesh<M>& m) {
    if constexpr (M::size == 1) run<split<M, one>>(m, what, folder);
    else run<split<M, four>>(m, what, folder);
  });
}
