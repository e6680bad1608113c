// If it compiles, it passes: a record prices optimizers that scale steps by norms, that average weights, and
// that keep factors, that skip steps, and steps that are computed twice.
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct grid : mesh<rows> {};

struct batch : dim<4> {};
struct model : dim<24> {};
struct other : dim<16> {};

struct whole : layout<grid> {};
struct data : layout<grid, split<batch, rows>> {};
struct along_model : layout<grid, split<model, rows>> {};

template<class Optimizer, Layout L>
struct training {
  parameter<float, L, model, other> a;
  parameter<float, L, model, other> b;
  parameter<float, L, model> c;
  Optimizer opt{};
  tensor<float, L, batch, model, other> x;

  constexpr explicit training(machine<L>& m) : a{m}, b{m}, c{m}, x{m} {}
  constexpr auto step() {
    auto loss = sum(x * a * b * c);
    backward(loss);
    opt.step(parameters(a, b, c));
    return loss;
  }
};

template<Layout L>
using by_lamb = training<lamb, L>;
template<Layout L>
using by_lars = training<lars, L>;
struct factored : adafactor {
  constexpr factored() { least_factored = 2; }
};
template<Layout L>
using by_factors = training<factored, L>;
template<Layout L>
using by_average = training<averaged<sgd>, L>;

constexpr auto lamb_step = record<by_lamb, batch, model>();
static_assert(tests::same_price(price<whole>(lamb_step), dry_run<by_lamb, whole>()));
static_assert(tests::same_price(price<data>(lamb_step), dry_run<by_lamb, data>()));
static_assert(tests::same_price(price<along_model>(lamb_step), dry_run<by_lamb, along_model>()));

constexpr auto lars_step = record<by_lars, batch, model>();
static_assert(tests::same_price(price<data>(lars_step), dry_run<by_lars, data>()));
static_assert(tests::same_price(price<along_model>(lars_step), dry_run<by_lars, along_model>()));

constexpr auto factored_step = record<by_factors, batch, model>();
static_assert(tests::same_price(price<whole>(factored_step), dry_run<by_factors, whole>()));
static_assert(tests::same_price(price<data>(factored_step), dry_run<by_factors, data>()));
static_assert(tests::same_price(price<along_model>(factored_step), dry_run<by_factors, along_model>()));

constexpr auto average_step = record<by_average, batch, model>();
static_assert(tests::same_price(price<data>(average_step), dry_run<by_average, data>()));
static_assert(tests::same_price(price<along_model>(average_step), dry_run<by_average, along_model>()));

/// Steps that may be skipped, and one whose gradients are computed twice.
template<Layout L>
struct careful_training {
  parameter<float, L, model, other> a;
  state<float, L, model> seen;
  sgd opt{.rate = 0.1, .skip_if_not_finite = 2};
  factored of_factors{};
  tensor<float, L, batch, model, other> x;

  constexpr explicit careful_training(machine<L>& m) : a{m}, seen{m}, x{m} {
    of_factors.skip_if_not_finite = 2;
  }
  constexpr auto step() {
    auto const list = parameters(a, seen);
    auto const loss = twice(list, [&] {
      seen.update(sum<batch, other>(x) * 0.5F);
      return sum(x * a);
    });
    opt.step(list);
    backward(sum(x * a));
    of_factors.step(list);
    return loss;
  }
};
constexpr auto careful_step = record<careful_training, batch, model>();
static_assert(tests::same_price(price<data>(careful_step), dry_run<careful_training, data>()));
static_assert(tests::same_price(price<along_model>(careful_step), dry_run<careful_training, along_model>()));

}  // namespace
