// If it compiles, it passes: how many blocks of a Transformer are computed again so that a step fits.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<16> {};
struct vocab : dim<32> {};
struct model : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<64> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>> {};

struct three_layers : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers      = 3;
  static constexpr bool recomputes = true;
};
struct three_kept_layers : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 3;
};

template<Layout L, class Dims>
struct step_of {
  nn::transformer<float, L, Dims> net;
  sgd opt{0.1};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  constexpr explicit step_of(machine<L>& m) : net{m, 1}, ids{m}, targets{m} {}
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

template<Layout L>
struct kept : step_of<L, three_kept_layers> {
  using step_of<L, three_kept_layers>::step_of;
};
template<Layout L>
struct training : step_of<L, three_layers> {
  constexpr training(machine<L>& m, int recomputed) : step_of<L, three_layers>{m} {
    this->net.recomputed = recomputed;
  }
};

constexpr auto none = dry_run<training, mixed>(0);
constexpr auto one  = dry_run<training, mixed>(1);
constexpr auto two  = dry_run<training, mixed>(2);
constexpr auto all  = dry_run<training, mixed>(3);

// of no blocks, nothing is computed again
static_assert(none.peak_bytes() == dry_run<kept, mixed>().peak_bytes() &&
              none.flops() == dry_run<kept, mixed>().flops());

// each block that is computed again takes less memory and more flops; all blocks are equal
static_assert(none.peak_bytes() > one.peak_bytes() && one.peak_bytes() > two.peak_bytes());
static_assert(all.flops() - two.flops() == two.flops() - one.flops() && two.flops() > one.flops());

// the least number that fits
static_assert(fits_with<training, mixed, none.peak_bytes() - 1>(3) == 1);
static_assert(fits_with<training, mixed, two.peak_bytes()>(3) == 2);

}  // namespace
