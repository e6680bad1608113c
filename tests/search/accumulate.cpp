// If it compiles, it passes: a step of micro-batches, with a gradient of its own, is recorded without a
// layout, and priced as dry runs.
#include <meshtf/search/search.hpp>

#include "same_price.hpp"
#include "two_weights.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

struct quarter : dim<4> {};

template<Layout L>
struct training : two_weights<L> {
  using two_weights<L>::two_weights;

  constexpr auto step() {
    auto loss = accumulate<4>([this](extent i) {
      auto const h       = einsum<quarter, hidden>(micro_batch<batch, quarter>(this->x, i), this->up);
      auto const clipped = [](auto const& dz, auto const&) { return clamp(dz, -1, 1); };
      auto const y       = custom_gradient([](auto const& v) { return copy(v); }, clipped, relu(h));
      return mean(square(einsum<quarter, model>(y, this->down))) / 4;
    });
    this->opt.step(parameters(this->up, this->down));
    return loss;
  }
};

constexpr auto step = record<training, batch, quarter, model, hidden>();

struct by_batch : layout<grid, split<batch, rows>, split<quarter, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<quarter, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<model, cols>> {};
static_assert(tests::priced_as_dry_runs<step, training, by_batch, by_hidden, by_model>);

}  // namespace
