// If it compiles, it passes: a step that computes its blocks again is recorded without a layout, and priced
// as dry runs.
#include <meshtf/search/search.hpp>

#include "same_price.hpp"
#include "two_weights.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

template<Layout L>
struct training : two_weights<L> {
  using two_weights<L>::two_weights;

  constexpr auto step() {
    auto const block = this->block();
    auto loss        = mean(square(recompute(block, recompute(block, this->x))));
    backward(loss);
    this->opt.step(parameters(this->up, this->down));
    return loss;
  }
};

constexpr auto step = record<training, batch, model, hidden>();

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<batch, rows>, split<model, cols>> {};
static_assert(tests::priced_as_dry_runs<step, training, by_batch, by_hidden, by_model>);

}  // namespace
