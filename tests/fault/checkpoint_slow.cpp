// A save that waits for the disk: those that wait say for what, and don't advise to compare calls.
//
// checkpoint_slow FOLDER, on two processes, with MESHTF_PATIENCE=2:
//   meshtf: process 1 of 2 has waited 2 s for process 0, which writes a checkpoint: ...   status 0
#include <string>

#include <unistd.h>

#include <meshtf/core/mesh.hpp>
#include <meshtf/io/checkpoint.hpp>
#include <meshtf/runtime/environment.hpp>
#include <meshtf/runtime/process_mesh.hpp>
#include <meshtf/tensor/initialiser.hpp>
#include <meshtf/tensor/parameter.hpp>

/// In place of the system's, which it does not need to call: nobody looks at the file.
extern "C" int fsync(int) {
  sleep(4);
  return 0;
}

namespace {

struct width : meshtf::dim<8> {};
struct two : meshtf::axis<2> {};
struct pair : meshtf::mesh<two> {};
struct halves : meshtf::layout<pair, meshtf::split<width, two>> {};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<pair> m{env.world()};
  meshtf::parameter<float, halves, width> w{m, meshtf::constant{1}};
  meshtf::save(meshtf::parameters(w), std::string{argc > 1 ? argv[1] : "."} + "/slow.safetensors");
}
