// If it compiles, it passes: where nothing is left to reduce, finish(p) has the array of p, which then lives
// as long as either of them. A record knows it.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<64> {};
struct in : dim<32> {};
struct out : dim<32> {};

template<Layout L>
struct operands {
  tensor<float, L, batch, in> x;
  parameter<float, L, in, out> w;

  constexpr explicit operands(machine<L>& m) : x{m}, w{m} {}
  constexpr auto local_terms() const { return partial_einsum<batch, out>(x, stop_gradient(w)); }
  constexpr auto finished() const {
    auto const p = local_terms();
    return finish(p);
  }
};

template<Layout L>
struct local_terms_die_first : operands<L> {
  using operands<L>::operands;
  constexpr auto step() {
    auto const y = this->finished();
    auto const z = this->finished();
    return sum(y * z);
  }
};

template<Layout L>
struct sum_dies_first : operands<L> {
  using operands<L>::operands;
  constexpr auto step() {
    auto const p = this->local_terms();
    auto const a = sum(finish(p));
    auto const b = sum(square(finish(p)));
    return a + b;
  }
};

template<Layout L>
struct two_sums_of_one : operands<L> {
  using operands<L>::operands;
  constexpr auto both() const {
    auto const p = this->local_terms();
    auto const y = finish(p);
    return std::pair{y * 2, finish(p)};
  }
  constexpr auto step() {
    auto const [twice, y] = both();
    auto const z          = this->finished();
    return sum(twice * z) + sum(y);
  }
};

template<Layout L>
struct with_gradients : operands<L> {
  sgd opt{0.1};
  using operands<L>::operands;
  constexpr auto hidden() const {
    auto const p = partial_einsum<batch, out>(this->x, this->w);
    return finish(p);
  }
  constexpr auto step() {
    auto const h    = hidden();
    auto const loss = mean(square(h + relu(h)) * this->finished());
    backward(loss);
    opt.step(parameters(this->w));
    return loss;
  }
};

template<template<Layout> class Program>
constexpr auto step = record<Program, batch, in, out>();
template<template<Layout> class Program>
constexpr auto ranked = rank_layouts<grid, candidates<batch, in, out>>(step<Program>);

template<template<Layout> class Program, std::size_t I>
constexpr bool as_dry_run() {
  using found           = layout_at<ranked<Program>, I>;
  constexpr auto priced = price<found>(step<Program>);
  return tests::same_price(priced, dry_run<Program, found>()) &&
         ranked<Program>[I].peak == priced.peak_bytes();
}
template<template<Layout> class Program, std::size_t... I>
constexpr bool all_as_dry_runs(std::index_sequence<I...>) {
  return (as_dry_run<Program, I>() && ...);
}
template<template<Layout> class Program>
constexpr bool priced_as_dry_runs =
    ranked<Program>.size() == 16 && all_as_dry_runs<Program>(tests::some_of<16>{});

static_assert(priced_as_dry_runs<local_terms_die_first>);
static_assert(priced_as_dry_runs<sum_dies_first>);
static_assert(priced_as_dry_runs<two_sums_of_one>);
static_assert(priced_as_dry_runs<with_gradients>);

}  // namespace
