// If it compiles, it passes: a step in mixed precision is recorded without a layout, and priced as dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<64> {};
struct in : dim<48> {};
struct hidden : dim<1024> {};
struct out : dim<16> {};

/// Float weights, activations and products in bfloat16.
template<Layout L>
struct training {
  parameter<float, L, in, hidden> w1;
  parameter<float, L, hidden, out> w2;
  parameter<float, L, hidden> scale;
  parameter<float, L, hidden> bias;
  sgd opt{0.1};
  tensor<bfloat16, L, batch, in> x;
  tensor<int, L, batch> labels;

  constexpr explicit training(machine<L>& m)
      : w1{m, he_normal{1}}, w2{m, he_normal{2}}, scale{m}, bias{m}, x{m}, labels{m} {}
  constexpr auto step() {
    auto h = relu(einsum<batch, hidden>(x, cast<bfloat16>(w1)) + cast<bfloat16>(bias));
    auto n = layer_norm<hidden>(h, cast<bfloat16>(scale), cast<bfloat16>(bias));
    auto loss =
        mean(softmax_cross_entropy<out>(cast<float>(einsum<batch, out>(n, cast<bfloat16>(w2))), labels));
    backward(loss);
    opt.step(parameters(w1, w2, scale, bias));
    return loss;
  }
};

constexpr auto step = record<training, batch, hidden, out>();

struct whole : layout<grid> {};
struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<hidden, cols>> {};
struct by_both : layout<grid, split<batch, rows>, split<hidden, cols>> {};

template<class L>
constexpr bool as_dry_run = tests::same_price(price<L>(step), dry_run<training, L>());

static_assert(as_dry_run<whole> && as_dry_run<by_batch> && as_dry_run<by_hidden> && as_dry_run<by_both>);

// what is added up over `cols` travels as float, and so do the gradients of float weights
constexpr auto cost = dry_run<training, by_hidden>();
static_assert([] {
  for (auto const& c : cost.collectives())
    if (c.op == reduction::sum && c.type == element::bfloat16) return false;
  return cost.calls() > 0;
}());

}  // namespace
