// A mixture of 16 experts, which lie on the axis that splits the batch: two all-to-alls in each pass. The
// hidden units are split over the other axis.
#include <meshtf/nn/mixture_of_experts.hpp>

#include "report.hpp"

namespace {

using namespace simulated;

// clang-format off
struct batch   : meshtf::dim<64> {};
struct length  : meshtf::dim<8>  {};
struct model   : meshtf::dim<16> {};
struct hidden  : meshtf::dim<32> {};
struct experts : meshtf::dim<16> {};
struct groups  : meshtf::dim<16> {};  // of 32 tokens

struct spread : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<groups, rows>,
                               meshtf::split<experts, rows>, meshtf::split<hidden, columns>> {};
// clang-format on

template<class L>
struct training {
  meshtf::nn::streams seeds{1};
  meshtf::nn::mixture_of_experts<double, L, model, hidden, experts, groups> mixture;
  meshtf::adamw opt{1e-2};
  meshtf::tensor<double, L, batch, length, model> x;
  meshtf::tensor<double, L, batch, length, model> y;

  constexpr explicit training(meshtf::machine<L>& m)
      : mixture{m, seeds, 0.2, 0.2},
        x{meshtf::random_normal<double, L, batch, length, model>(m, {.seed = 3})},
        y{meshtf::random_normal<double, L, batch, length, model>(m, {.seed = 4})} {}

  constexpr auto step(int i) {
    auto const z     = mixture(x, {.seed = 2, .stream = static_cast<std::uint64_t>(i)});
    auto const error = mean(square(x + z.value - y));
    auto const loss  = error + finish(z.balance_loss * 0.05 + z.router_z_loss * 0.001);
    backward(loss);
    opt.step(mixture.parameters());
    return error;
  }
};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  train<training, spread>(m, "spread");
}
