// Three steps of training, which multiply, add up, gather and draw. Prints the kernels that they ran with;
// status 1 if nothing was learned.
#include <meshtf/meshtf.hpp>

#include <iostream>

struct batch : meshtf::dim<32> {};
struct in : meshtf::dim<40> {};
struct hidden : meshtf::dim<64> {};
struct out : meshtf::dim<10> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  meshtf::parameter<float, data_parallel, in, hidden> w1{m, meshtf::he_normal{1}};
  meshtf::parameter<float, data_parallel, hidden, out> w2{m, meshtf::he_normal{2}};
  meshtf::adam opt{0.01F};
  auto const x = meshtf::random_normal<float, data_parallel, batch, in>(m, {.seed = 3});
  meshtf::tensor<int, data_parallel, batch> const labels{m};
  float first = 0;
  float last  = 0;
  for (int step = 0; step < 3; ++step) {
    auto const loss =
        mean(softmax_cross_entropy<out>(einsum<batch, out>(relu(einsum<batch, hidden>(x, w1)), w2), labels));
    backward(loss);
    opt.step(meshtf::parameters(w1, w2));
    last = loss.value();
    if (step == 0) first = last;
  }
  if (env.world().rank() == 0) std::cout << meshtf::kernel::kernels_instruction_set() << std::endl;
  return last < first ? 0 : 1;
}
