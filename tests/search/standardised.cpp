// If it compiles, it passes: norms whose statistics are joined along split dimensions are recorded without a
// layout, and priced as in dry runs.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<8> {};
struct width : dim<8> {};
struct channels : dim<16> {};

struct nothing : layout<grid> {};
struct by_batch : layout<grid, split<batch, cols>> {};
struct by_space : layout<grid, split<batch, rows>, split<width, cols>> {};
struct by_all : layout<grid, split<batch, cols>, split<channels, rows>> {};

template<Layout L>
struct norming {
  parameter<float, L, batch, width, channels> w;
  parameter<float, L, channels> scale;
  parameter<float, L, channels> bias;

  constexpr explicit norming(machine<L>& m) : w{m, normal{1}}, scale{m, constant{1}}, bias{m, zeros{}} {}
  constexpr auto step() {
    auto const x = batch_norm<channels>(tanh(w), scale, bias).norm;
    auto loss    = mean(square(group_norm<width, channels>(x, scale, bias)));
    backward(loss);
    return loss;
  }
};
constexpr auto normed = record<norming, batch, width, channels>();
static_assert(tests::priced_as_dry_runs<normed, norming, nothing, by_batch, by_space, by_all>);

}  // namespace
