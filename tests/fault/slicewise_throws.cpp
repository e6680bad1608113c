// On one process the function of a slicewise throws, while the others go on to an all-reduce.
//
// 4 processes: meshtf: the function of slicewise threw: no plan for part 1 (process 1 of 4)     status 70, within seconds
#include <stdexcept>
#include <string>

#include <meshtf/meshtf.hpp>

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};
struct batch : meshtf::dim<8> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::process_mesh<grid> m{env.world()};
  auto const x    = meshtf::iota<float, by_batch, batch>(m);
  auto const plan = [](auto&& z, auto const& part) {
    if (part(0) == 2) throw std::runtime_error{"no plan for part 1"};
    z = part;
  };
  auto const y = slicewise<meshtf::shape<batch>, meshtf::splittable<batch>>(plan, x);
  (void)sum(y);
}
