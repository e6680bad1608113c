// If it compiles, it passes: slice, broadcast, concat, argmax, sample and a reshard that changes nothing are
// recorded without a layout, and priced as dry runs.
#include <utility>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct prompt : dim<8> {};
struct rest : dim<24> {};
struct length : dim<32> {};
struct positions : dim<64> {};
struct model : dim<64> {};
struct vocab : dim<128> {};

template<Layout L>
struct training {
  parameter<float, L, batch, prompt, model> prefix;
  parameter<float, L, positions, model> places;
  parameter<float, L, model, vocab> w;
  adam opt{1e-3};
  tensor<float, L, batch, rest, model> x;
  tensor<int, L, batch, length> targets;

  constexpr explicit training(machine<L>& m)
      : prefix{m, he_normal{1}}, places{m, he_normal{2}}, w{m, he_normal{3}}, x{m}, targets{m} {}
  constexpr auto step() {
    auto all    = reshard<L>(concat<length>(relu(prefix), reshard<L>(x)));
    auto here   = broadcast<length, batch, model>(slice<positions, length>(places, 5));
    auto logits = einsum<batch, length, vocab>(all + here, reshard<L>(w));
    auto loss   = mean(softmax_cross_entropy<vocab>(logits, targets));
    backward(loss);
    opt.step(parameters(prefix, places, w));
    auto best = argmax<vocab>(logits);
    return sample<vocab>(logits, {.seed = 1, .stream = 2}, 0.8);
  }
};

constexpr auto step   = record<training, batch, model, vocab>();
constexpr auto ranked = rank_layouts<grid, candidates<batch, model, vocab>>(step);
static_assert(ranked.size() == 16);  // of two axes, each splits one of the three or none

template<std::size_t I>
constexpr bool as_dry_run() {
  using found           = layout_at<ranked, I>;
  constexpr auto priced = price<found>(step);
  return tests::same_price(priced, dry_run<training, found>()) && ranked[I].peak == priced.peak_bytes();
}
template<std::size_t... I>
constexpr bool all_as_dry_runs(std::index_sequence<I...>) {
  return (as_dry_run<I>() && ...);
}
static_assert(all_as_dry_runs(tests::some_of<16>{}));

// what is sliced or joined is whole under all layouts that are ranked, and others have no price; what that
// makes may be split
constexpr auto all_open = record<training, batch, prompt, rest, length, positions, model, vocab>();
static_assert(rank_layouts<grid, candidates<batch, prompt, rest, length, positions, model, vocab>>(all_open)
                  .size() == 25);
struct along_length : layout<grid, split<length, rows>> {};
struct along_positions : layout<grid, split<positions, rows>> {};
struct along_rest : layout<grid, split<rest, rows>> {};
template<class L>
concept has_price = requires { std::bool_constant<(price<L>(all_open), true)>{}; };
static_assert(tests::same_price(price<along_length>(all_open), dry_run<training, along_length>()));
static_assert(!has_price<along_positions> && !has_price<along_rest> &&
              has_price<layout<grid, split<batch, rows>>>);

}  // namespace
