// What mixed precision saves, as the compiler promises it: of a language model's activations at the peak, at
// least two fifths.
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<256> {};
struct vocab : dim<256> {};
struct width : dim<128> {};
struct heads : dim<4> {};
struct key : dim<32> {};
struct hidden : dim<512> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct alone : layout<mesh<>> {};
struct mixed : layout<grid, split<batch, rows>, split<heads, cols>, split<hidden, cols>, split<vocab, cols>> {
};

// few activations with many weights: images of weights must not be kept
struct by_batch : layout<grid, split<batch, rows, cols>> {};

struct dims : nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  static constexpr int layers = 2;
};

template<class Activation>
struct step_with {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::transformer<float, L, dims, Activation> net{m, 1};
    tensor<int, L, batch, length> ids{m};
    adamw optimizer{1e-3};
    optimizer.prepare(parameters(net));
    m.start_over();
    backward(mean(softmax_cross_entropy<vocab>(net(ids), ids)));
    optimizer.step(parameters(net));
  }
};

template<Layout L>
constexpr bool saves_two_fifths() {
  constexpr auto in_float    = dry_run<L>(step_with<float>{});
  constexpr auto in_bfloat16 = dry_run<L>(step_with<bfloat16>{});
  static_assert(in_bfloat16.parameter_bytes() == in_float.parameter_bytes());  // weights stay float
  static_assert(in_bfloat16.optimizer_bytes() == in_float.optimizer_bytes());
  static_assert(in_bfloat16.flops() == in_float.flops());
  return 10 * in_bfloat16.at_peak()[held_for::activation] <= 6 * in_float.at_peak()[held_for::activation];
}

static_assert(saves_two_fifths<alone>());
static_assert(saves_two_fifths<mixed>());
static_assert(saves_two_fifths<by_batch>());

}  // namespace
