// What a program needs that runs on processes: meshtf::meshtf, and nothing else.
#include <meshtf/meshtf.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  auto ones = meshtf::tensor<float, data_parallel, batch>{m} + 1;
  return sum(ones).value() == 8 ? 0 : 1;
}
