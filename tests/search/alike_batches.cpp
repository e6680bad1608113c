// If it compiles, it passes: a record for `cheapest` runs the first and the last of several micro-batches,
// and counts the last for the others. It has the price of dry runs, which run all.
#include <meshtf/planning.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;
using namespace meshtf::tests;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct quarter : dim<4> {};
struct model : dim<128> {};
struct hidden : dim<512> {};  // weights that are updated alone: 256 KiB

/// What becomes of the intermediate values of a block.
enum class values { stay, made_again, leave };

template<Layout L, values Values, bool UpdatesInBackward = false>
struct training {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;

  constexpr explicit training(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m} {
    m.spill_from(64);
  }

  constexpr auto loss(extent i) const {
    auto const block = [this](auto const& h) {
      return h + einsum<quarter, model>(relu(einsum<quarter, hidden>(h, this->up)), this->down);
    };
    auto const in = micro_batch<batch, quarter>(x, i);
    if constexpr (Values == values::made_again) return mean(square(recompute(block, in))) / 4;
    else if constexpr (Values == values::leave) return mean(square(block(spill(block, in)))) / 4;
    else return mean(square(block(in))) / 4;
  }
  constexpr auto step() {
    auto const of_part = [this](extent i) { return loss(i); };
    if constexpr (UpdatesInBackward) {
      return accumulate<4>(of_part, opt, parameters(up, down));
    } else {
      auto sum = accumulate<4>(of_part);
      opt.step(parameters(up, down));
      return sum;
    }
  }
};
template<Layout L>
using keeping = training<L, values::stay>;
template<Layout L>
using recomputing = training<L, values::made_again>;
template<Layout L>
using spilling = training<L, values::leave>;
template<Layout L>
using updating = training<L, values::stay, true>;

struct by_batch : layout<grid, split<batch, rows>, split<quarter, rows>> {};
struct by_hidden : layout<grid, split<batch, rows>, split<quarter, rows>, split<hidden, cols>> {};
struct by_model : layout<grid, split<model, cols>> {};

template<template<Layout> class Program>
constexpr auto counted = detail::record_of<Program, batch, quarter, model, hidden>(true);
template<template<Layout> class Program>
constexpr auto run = detail::record_of<Program, batch, quarter, model, hidden>(false);

template<template<Layout> class Program>
constexpr bool is_priced_as_dry_runs =
    tests::priced_as_dry_runs<counted<Program>, Program, by_batch, by_hidden, by_model>;
static_assert(is_priced_as_dry_runs<keeping> && is_priced_as_dry_runs<recomputing> &&
              is_priced_as_dry_runs<spilling>);
static_assert(price<by_batch>(counted<spilling>).bytes_spilled() ==
              dry_run<spilling, by_batch>().bytes_spilled());
static_assert(price<by_batch>(counted<spilling>).bytes_spilled() > 0);

// where the last backward pass updates the parameters, a record says as much as if it had run them all
template<Layout L>
constexpr bool same_with_updates = same_price(price<L>(counted<updating>), price<L>(run<updating>));
static_assert(same_with_updates<by_batch> && same_with_updates<by_hidden> && same_with_updates<by_model>);

}  // namespace
