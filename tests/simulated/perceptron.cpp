// A perceptron of two layers under data, model and mixed parallelism, in double: its losses.
#include "report.hpp"

namespace {

using namespace simulated;

// clang-format off
struct batch  : meshtf::dim<512>  {};
struct in     : meshtf::dim<64>   {};
struct hidden : meshtf::dim<1024> {};
struct out    : meshtf::dim<16>   {};

struct data_parallel  : meshtf::layout<grid, meshtf::split<batch, rows, columns>> {};
struct model_parallel : meshtf::layout<grid, meshtf::split<hidden, rows, columns>> {};
struct mixed          : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, columns>> {};
// clang-format on

template<class L>
struct training {
  meshtf::nn::linear<double, L, in, hidden> up;
  meshtf::nn::linear<double, L, hidden, out> down;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<double, L, batch, in> x;
  meshtf::tensor<double, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m)
      : up{m, meshtf::he_normal{1}},
        down{m, meshtf::he_normal{2}},
        x{meshtf::random_normal<double, L, batch, in>(m, {.seed = 3})},
        y{meshtf::random_normal<double, L, batch, out>(m, {.seed = 4})} {}

  constexpr auto step(int) {
    auto const loss = mean(square(down(relu(up(x))) - y));
    backward(loss);
    opt.step(meshtf::parameters(up, down));
    return loss;
  }
};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  train<training, data_parallel>(m, "data");
  train<training, model_parallel>(m, "model");
  train<training, mixed>(m, "mixed");
}
