// The program of the README: the compiler runs a training step under a layout, and fails the build if a
// process sends too much. It needs no MPI.
// Run:    build/release/examples/hello_layouts
// Prints: the bytes that a process sends along each axis of the mesh in one step.
// clang-format off
#include <meshtf/planning.hpp>                      // needs Boost.Hana alone: no MPI
#include <cstdio>

struct batch  : meshtf::dim<64>   {};               // a dimension: a name and a size
struct model  : meshtf::dim<512>  {};
struct hidden : meshtf::dim<2048> {};
struct rows   : meshtf::axis<2>   {};               // the mesh: 2 x 4 processes
struct cols   : meshtf::axis<4>   {};
struct grid   : meshtf::mesh<rows, cols> {};

using meshtf::split;
struct data_parallel : meshtf::layout<grid, split<batch, rows, cols>> {};
struct mixed         : meshtf::layout<grid, split<batch, rows>, split<hidden, cols>> {};

constexpr auto feed_forward(auto const& x, auto const& up, auto const& down) {   // one source, every layout
  return einsum<batch, model>(gelu(einsum<batch, hidden>(x, up)), down);         // hidden split: all-reduce
}

template<meshtf::Layout L> struct training {
  meshtf::parameter<float, L, model, hidden> up;
  meshtf::parameter<float, L, hidden, model> down;
  meshtf::tensor<float, L, batch, model> x;
  constexpr explicit training(meshtf::machine<L>& m) : up{m}, down{m}, x{m} {}
  constexpr void step() {
    backward(mean(square(feed_forward(x, up, down))));
    meshtf::sgd{0.1f}.step(parameters(up, down));   // sums the gradients over the processes that share a part
  }
};

constexpr auto cost = meshtf::dry_run<training, mixed>();     // the compiler runs the step
static_assert(cost.bytes_sent<rows>() <= 3 * meshtf::MiB);    // sends more: no program

int main() {
  std::printf("%ld bytes along rows, %ld along cols\n", cost.bytes_sent<rows>(), cost.bytes_sent<cols>());
}
