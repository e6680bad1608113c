// A Transformer language model with dropout, its batch split over the rows of the mesh, heads, hidden units
// and vocabulary over the columns; then the same with its optimizer's state in parts.
#include "report.hpp"

namespace {

using namespace simulated;
using meshtf::nn::transformer;

// clang-format off
struct batch  : meshtf::dim<32>  {};
struct length : meshtf::dim<16>  {};
struct vocab  : meshtf::dim<64>  {};
struct model  : meshtf::dim<32>  {};
struct heads  : meshtf::dim<16>  {};
struct key    : meshtf::dim<4>   {};
struct hidden : meshtf::dim<128> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<heads, columns>,
                              meshtf::split<hidden, columns>, meshtf::split<vocab, columns>> {};
// clang-format on

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers    = 2;
  static constexpr double stddev = 0.1;
};

template<class L>
struct training {
  transformer<double, L, dims> net;
  meshtf::adamw opt{1e-2};
  meshtf::tensor<int, L, batch, length> ids;

  constexpr explicit training(meshtf::machine<L>& m)
      : net{m, 1},
        ids{meshtf::cast<int>(meshtf::random_uniform<double, L, batch, length>(m, {.seed = 2}) * 64.0)} {
    opt.max_norm    = 1;
    opt.shard_state = true;
    opt.prepare(net.parameters());
  }

  constexpr auto step(int i) {
    auto const dropped = meshtf::dropout(net(ids), 0.1, {.seed = 3, .stream = static_cast<std::uint64_t>(i)});
    auto const loss    = mean(meshtf::softmax_cross_entropy<vocab>(dropped, ids));
    backward(loss);
    opt.step(net.parameters());
    return loss;
  }
};

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  train<training, mixed>(m, "mixed");
}
