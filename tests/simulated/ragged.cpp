// A batch of another length in each step, split over all processes, so that some hold nothing of the short
// ones; and a hidden dimension that no number of processes divides.
#include "report.hpp"

namespace {

using namespace simulated;
using meshtf::extent;

// clang-format off
struct batch  : meshtf::up_to<512> {};
struct in     : meshtf::dim<32>    {};
struct hidden : meshtf::dim<321>   {};
struct out    : meshtf::dim<8>     {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows, columns>> {};
struct uneven        : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::padded<hidden, columns>> {};
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

  constexpr auto step(int i) {
    extent const lengths[] = {512, 131, 7, 300};
    meshtf::counted<batch> const guard{x.machine(), lengths[i]};
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
  train<training, data_parallel>(m, "data", 4);
  train<training, uneven>(m, "uneven", 4);
}
