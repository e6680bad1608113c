// One process counts other elements than the others, and all would add up different things.
//
// meshtf: ... process 0 counts 4 elements of batch, process 1 counts 5 elements of batch     status 70
#include <cstdlib>

#include <meshtf/meshtf.hpp>

namespace {

struct batch : meshtf::up_to<8> {};
struct rows : meshtf::axis<3> {};
struct line : meshtf::mesh<rows> {};
struct divided : meshtf::layout<line, meshtf::padded<batch, rows>> {};

}  // namespace

int main(int argc, char** argv) {
  setenv("MESHTF_CHECK", "1", 1);
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<line> m{env.world()};
  meshtf::counted<batch> const guard{m, m.rank() == 1 ? 5 : 4};
  meshtf::tensor<float, divided, batch> const x{m};
  (void)sum(x);
}
