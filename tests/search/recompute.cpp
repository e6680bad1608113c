// If it compiles, it passes: a step that computes its blocks again is recorded without a layout, and priced as dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct model : dim<32> {};
struct hidden : dim<64> {};

template<Layout L>
struct training {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;

  constexpr explicit training(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m} {}
  constexpr auto step() {
    auto const block = [this](auto const& h) { return h + einsum<batch, model>(relu(einsum<batch, hidden>(h, up)), down); };
    auto loss        = mean(square(recompute(block, recompute(block, x))));
    backward(loss);
    opt.step(parameters(up, down));
    return loss;
  }
};

constexpr auto step = record<training, batch, model, hidden>();

template<class L>
constexpr bool as_dry_run() {
  return tests::same_price(price<L>(step), dry_run<training, L>());
}

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<batch, rows>, split<model, cols>> {};
static_assert(as_dry_run<by_batch>());
static_assert(as_dry_run<by_hidden>());
static_assert(as_dry_run<by_model>());

}  // namespace
