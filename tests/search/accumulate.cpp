// If it compiles, it passes: a step of micro-batches, with a gradient of its own, is recorded without a layout, and priced as dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct quarter : dim<4> {};
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
    auto loss = accumulate<4>([this](extent i) {
      auto const h       = einsum<quarter, hidden>(micro_batch<batch, quarter>(x, i), up);
      auto const clipped = [](auto const& dz, auto const&) { return clamp(dz, -1, 1); };
      auto const y       = custom_gradient([](auto const& v) { return copy(v); }, clipped, relu(h));
      return mean(square(einsum<quarter, model>(y, down))) / 4;
    });
    opt.step(parameters(up, down));
    return loss;
  }
};

constexpr auto step = record<training, batch, quarter, model, hidden>();

template<class L>
constexpr bool as_dry_run() {
  return tests::same_price(price<L>(step), dry_run<training, L>());
}

struct by_batch : layout<grid, split<batch, rows>, split<quarter, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<quarter, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<model, cols>> {};
static_assert(as_dry_run<by_batch>());
static_assert(as_dry_run<by_hidden>());
static_assert(as_dry_run<by_model>());

}  // namespace
