// A network whose weights are kept in parts: over all processes, in one message each way; over the columns,
// each weight in a message of its own; over the rows, with hidden units split over the columns. The parts of
// what the first layer makes are padded.
//
// A reduce-scatter goes by pairs: N (N - 1) messages among N processes, of which the simulator does some
// 25,000 a second. One for each weight over all of 256 processes takes three times as long.
#include <array>

#include "report.hpp"

namespace {

using namespace simulated;

// clang-format off
struct batch  : meshtf::dim<512>  {};
struct in     : meshtf::dim<32>   {};
struct model  : meshtf::dim<48>   {};
struct hidden : meshtf::dim<512>  {};
struct middle : meshtf::dim<321>  {};
struct out    : meshtf::dim<8>    {};

struct together : meshtf::layout<grid, meshtf::split<batch, rows, columns>,
                                 meshtf::kept_over<rows, columns>> {};
struct alone    : meshtf::layout<grid, meshtf::split<batch, rows, columns>, meshtf::kept_over<columns>,
                                 meshtf::one_message_a_weight> {};
struct mixed    : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, columns>,
                                 meshtf::kept_over<rows>> {};
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

template<class L>
struct network {
  meshtf::nn::linear<double, L, in, middle> first;
  meshtf::nn::linear<double, L, middle, model> second;
  std::array<block<L>, 2> blocks;
  meshtf::nn::linear<double, L, model, out> last;

  constexpr explicit network(meshtf::machine<L>& m)
      : first{m, meshtf::he_normal{1}},
        second{m, meshtf::he_normal{2}},
        blocks{block<L>{m, 10}, block<L>{m, 12}},
        last{m, meshtf::normal{3, 0.1}} {}
  constexpr auto operator()(auto const& x) const {
    auto const h = second(gelu(first(x)));
    return last(blocks[1](blocks[0](h)));
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("first", first), named("second", second), named("blocks", blocks),
                              named("last", last));
  }
};

template<class L>
struct training {
  network<L> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<double, L, batch, in> x;
  meshtf::tensor<double, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m)
      : net{m},
        x{meshtf::random_normal<double, L, batch, in>(m, {.seed = 4})},
        y{meshtf::random_normal<double, L, batch, out>(m, {.seed = 5})} {}

  constexpr auto step(int) {
    auto const loss = mean(square(meshtf::with_gathered_weights(net, x) - y));
    backward(loss);
    opt.step(meshtf::parameters(net));
    return loss;
  }
};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  train<training, together>(m, "together");
  train<training, alone>(m, "alone");
  train<training, mixed>(m, "mixed");
}
