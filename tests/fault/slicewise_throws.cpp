// On the last process, which may be the only one, the function of a slicewise throws, while the others go on
// to an all-reduce.
//
// 4 processes: meshtf: the function of slicewise threw: no plan for the last part (process 3 of 4)     status
// 70, within seconds
#include <stdexcept>
#include <string>

#include <meshtf/meshtf.hpp>

template<meshtf::extent N>
struct rows : meshtf::axis<N> {};
template<meshtf::extent N>
struct grid : meshtf::mesh<rows<N>> {};
struct batch : meshtf::dim<8> {};
template<meshtf::Mesh M>
struct by_batch;
template<meshtf::extent N>
struct by_batch<grid<N>> : meshtf::layout<grid<N>, meshtf::split<batch, rows<N>>> {};

int main(int argc, char** argv) {
  meshtf::environment const env{argc, argv, {.report_kernels = false}};
  meshtf::run_on<grid<1>, grid<2>, grid<4>>(env, []<meshtf::Mesh M>(meshtf::process_mesh<M>& m) {
    auto const x    = meshtf::iota<float, by_batch<M>, batch>(m);
    auto const plan = [](auto&& z, auto const& part) {
      if (part(part.shape(0) - 1) == 7) throw std::runtime_error{"no plan for the last part"};
      z = part;
    };
    auto const y = slicewise<meshtf::shape<batch>, meshtf::splittable<batch>>(plan, x);
    (void)sum(y);
  });
}
