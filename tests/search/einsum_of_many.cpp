// If it compiles, it passes: an einsum of many operands is recorded without a layout in the order of the
// fewest flops in all, and priced as dry runs.
#include <meshtf/search/search.hpp>

#include "same_price.hpp"
#include "two_weights.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

struct in : dim<32> {};
struct low : dim<4> {};

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

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct by_in : layout<grid, split<in, rows, cols>> {};
static_assert(tests::priced_as_dry_runs<step, training, by_batch, by_hidden, by_in>);

}  // namespace
