// A network whose 16 blocks lie on a stage for each row of the mesh, the batch split over the columns; and
// the same weights kept in parts over the columns.
#include <vector>

#include "report.hpp"

namespace {

using namespace simulated;
using meshtf::extent;

// clang-format off
struct batch  : meshtf::dim<256> {};
struct part   : meshtf::dim<64>  {};  // a micro-batch
struct model  : meshtf::dim<16>  {};
struct hidden : meshtf::dim<32>  {};

struct staged : meshtf::layout<grid, meshtf::split<batch, columns>, meshtf::split<part, columns>,
                               meshtf::staged<rows>> {};
struct kept   : meshtf::layout<grid, meshtf::split<batch, columns>, meshtf::split<part, columns>,
                               meshtf::staged<rows>, meshtf::kept_over<columns>> {};
// clang-format on

template<class L>
struct block {
  meshtf::nn::linear<double, L, model, hidden> up;
  meshtf::nn::linear<double, L, hidden, model> down;

  constexpr block(meshtf::machine<L>& m, std::uint64_t seed)
      : up{m, meshtf::he_normal{seed}}, down{m, meshtf::normal{seed + 1, 0.1}} {}
  constexpr auto operator()(auto const& x) const { return x + down(gelu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};

constexpr extent blocks = 16;

template<class L>
struct training {
  std::vector<block<L>> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<double, L, batch, model> x;
  meshtf::tensor<double, L, batch, model> y;

  static constexpr extent stage_of(extent i) { return i * meshtf::stage_count<L> / blocks; }

  constexpr explicit training(meshtf::machine<L>& m)
      : x{meshtf::random_normal<double, L, batch, model>(m, {.seed = 3})},
        y{meshtf::random_normal<double, L, batch, model>(m, {.seed = 4})} {
    net.reserve(blocks);
    for (extent i = 0; i < blocks; ++i) {
      auto const here = meshtf::at_stage<L>(m, stage_of(i));
      net.emplace_back(m, static_cast<std::uint64_t>(10 + 2 * i));
    }
  }

  constexpr auto step(int) {
    auto const loss = meshtf::accumulate<4>(x.machine(), [&](extent n) {
      auto h = net[0](meshtf::micro_batch<batch, part>(x, n));
      for (extent i = 1; i < blocks; ++i) {
        auto const received = hand_on(h, stage_of(i));
        h                   = net[static_cast<std::size_t>(i)](received);
      }
      return mean(square(h - meshtf::micro_batch<batch, part>(y, n))) / 4;
    });
    opt.step(meshtf::parameters(named("net", net)));
    return loss;
  }
};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  train<training, staged>(m, "staged");
  train<training, kept>(m, "kept");
}
