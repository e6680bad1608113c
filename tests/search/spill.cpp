// If it compiles, it passes: a step whose blocks leave memory for a file is recorded without a layout, and
// priced as dry runs, also where some arrays are too short to leave under a layout.
#include <meshtf/ops/function/spill.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"
#include "two_weights.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

template<Layout L>
struct training : two_weights<L> {
  constexpr training(machine<L>& m, extent least) : two_weights<L>{m} { m.spill_from(least); }

  constexpr auto step() {
    auto const block = this->block();
    auto const kept  = spill(block, spill(block, spill(block, this->x)));
    auto loss        = mean(square(block(recompute(block, kept))));
    backward(loss);
    this->opt.step(parameters(this->up, this->down));
    return loss;
  }
};

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<model, cols>> {};

template<extent Least>
constexpr auto step = record<training, batch, model, hidden>(Least);

template<Layout L, extent Least>
constexpr bool is_priced_as_dry_run = [] {
  auto const recorded = price<L>(step<Least>);
  auto const dry      = dry_run<training, L>(Least);
  return tests::same_price(recorded, dry) && recorded.bytes_spilled() == dry.bytes_spilled();
}();

// an array of the batch and the model has 2 KiB, one of the batch and hidden units 4 KiB
static_assert(price<by_batch>(step<64>).bytes_spilled() > price<by_batch>(step<2 * KiB>).bytes_spilled());
static_assert(price<by_batch>(step<2 * KiB>).bytes_spilled() > 0);
static_assert(price<by_hidden>(step<2 * KiB>).bytes_spilled() == 0);
static_assert(is_priced_as_dry_run<by_batch, 64> && is_priced_as_dry_run<by_batch, 2 * KiB>);
static_assert(is_priced_as_dry_run<by_hidden, 64> && is_priced_as_dry_run<by_hidden, 2 * KiB>);
static_assert(is_priced_as_dry_run<by_model, 64> && is_priced_as_dry_run<by_model, 2 * KiB>);

}  // namespace
