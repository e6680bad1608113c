// If it compiles, it passes: a record prices optimizers that make their means at the first step, before the
// gradients they pack into one message.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct grid : mesh<rows> {};

struct batch : dim<4> {};
struct model : dim<24> {};

// the gradient of one is given back, and the means of the next are taken, in bytes that depend on the same
// dimensions
template<Layout L>
struct training {
  parameter<float, L, model> a;
  parameter<float, L, model> b;
  parameter<float, L, model> c;
  adam opt{1e-3};
  tensor<float, L, batch, model> x;

  constexpr explicit training(machine<L>& m) : a{m}, b{m}, c{m}, x{m} {}
  constexpr auto step() {
    auto loss = sum(x * a * b * c);
    backward(loss);
    opt.step(parameters(a, b, c));
    return loss;
  }
};

constexpr auto step = record<training, batch, model>();

struct whole : layout<grid> {};
struct data : layout<grid, split<batch, rows>> {};
struct along_model : layout<grid, split<model, rows>> {};
static_assert(tests::same_price(price<whole>(step), dry_run<training, whole>()));
static_assert(tests::same_price(price<data>(step), dry_run<training, data>()));
static_assert(tests::same_price(price<along_model>(step), dry_run<training, along_model>()));

}  // namespace
