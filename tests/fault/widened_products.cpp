// Products of bfloat16 on a processor that has nothing faster for them than float's: they are right, and the
// job says so once.
//
// meshtf: products of bfloat16 are done in float, since this processor, or this build, has nothing faster for
// them (...): ...   status 0
#include <meshtf/meshtf.hpp>

struct batch : meshtf::dim<64> {};
struct in : meshtf::dim<64> {};
struct out : meshtf::dim<64> {};
struct rows : meshtf::axis<2> {};
struct line : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<line, meshtf::split<batch, rows>> {};

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv};
  meshtf::process_mesh<line> m{env.world()};
  auto const x = meshtf::tensor<meshtf::bfloat16, data_parallel, batch, in>{m} + 2;
  auto const w = meshtf::tensor<meshtf::bfloat16, data_parallel, in, out>{m} + 1;
  for (int i = 0; i < 3; ++i)
    if (sum(cast<float>(einsum<batch, out>(x, w))).value() != 64 * 64 * 128) return 1;
  return 0;
}
