// If it compiles, it passes: an einsum of many operands is recorded without a layout in the order of the fewest flops in all, and priced as dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct in : dim<32> {};
struct low : dim<4> {};
struct hidden : dim<64> {};

/// A weight as the product of two of low rank, scaled by row.
template<Layout L>
struct training {
  parameter<float, L, in, low> u;
  parameter<float, L, low, hidden> v;
  parameter<float, L, hidden> scale;
  sgd opt{0.1};
  tensor<float, L, batch, in> x;

  constexpr explicit training(machine<L>& m) : u{m, he_normal{1}}, v{m, he_normal{2}}, scale{m}, x{m} {}
  constexpr auto step() {
    auto y    = einsum<hidden, batch>(v, scale, u, x);
    auto loss = mean(square(y));
    backward(loss);
    opt.step(parameters(u, v, scale));
    return loss;
  }
};

constexpr auto step = record<training, batch, in, hidden, low>();

template<class L>
constexpr bool as_dry_run() {
  return tests::same_price(price<L>(step), dry_run<training, L>());
}

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_in : layout<grid, split<in, rows, cols>> {};
static_assert(as_dry_run<by_batch>());
static_assert(as_dry_run<by_hidden>());
static_assert(as_dry_run<by_in>());

}  // namespace
