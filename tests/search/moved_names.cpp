// If it compiles, it passes: a rename under which elements move is recorded without a layout, and priced as
// in dry runs.
// test: long
#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};
struct tall : axis<3> {};
struct wide : axis<2> {};
struct other : mesh<tall, wide> {};

// ---- experts: groups and experts change places, in one all-to-all if one axis splits both
struct groups : dim<12> {};
struct all_groups : dim<12> {};
struct experts : dim<12> {};
struct all_experts : dim<12> {};
struct tokens : dim<4> {};
struct model : dim<8> {};

template<Layout L>
struct sending {
  parameter<float, L, groups, tokens, all_experts> w;
  parameter<float, L, experts, model> v;
  sgd opt{0.1F};

  constexpr explicit sending(machine<L>& m) : w{m, he_normal{1}}, v{m, he_normal{2}} {}
  constexpr auto step() {
    auto const there = rename<groups, all_groups, all_experts, experts>(tanh(w));
    auto const done  = tanh(einsum<all_groups, tokens, experts, model>(there, v));
    auto const back  = rename<all_groups, groups, experts, all_experts>(done);
    auto loss        = mean(square(back)) + mean(tanh(w));
    backward(loss);
    opt.step(parameters(w, v));
    return loss;
  }
};
constexpr auto sent = record<sending, groups, experts, all_experts, model, tokens>();
struct nothing : layout<grid> {};
struct by_both : layout<grid, split<groups, rows>, split<experts, rows>, split<model, cols>> {};
struct by_groups : layout<grid, split<groups, rows, cols>, split<experts, rows>> {};
struct crossed : layout<grid, split<groups, rows>, split<experts, cols>> {};
struct experts_alone : layout<grid, split<all_experts, cols>, split<groups, rows>> {};
struct alike : layout<grid, split<experts, cols>, split<all_experts, cols>, split<tokens, rows>> {};
struct unequal : layout<other, padded<groups, tall>, padded<experts, tall>> {};
static_assert(
    tests::priced_as_dry_runs<sent, sending, nothing, by_both, by_groups, crossed, experts_alone, alike>);
static_assert(tests::priced_as_dry_runs<sent, sending, unequal>);

constexpr auto layouts = rank_layouts<grid, candidates<groups, experts, all_experts, tokens>>(sent);
static_assert([] {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    auto const alone     = price<grid>(sent, layouts.numbers(i));
    double const seconds = alone.time().total();
    if (layouts[i].peak != alone.peak_bytes() || layouts[i].seconds < seconds * (1 - 1e-9) ||
        layouts[i].seconds > seconds * (1 + 1e-9))
      return false;
  }
  return layouts.size() == 49;
}());

// ---- sums that the backward pass adds up: where length is split, keys are gathered and their gradients
// scattered
struct batch : dim<4> {};
struct length : dim<8> {};
struct memory : dim<8> {};

template<Layout L>
struct attending {
  parameter<float, L, model, tokens> w;
  tensor<float, L, batch, length, model> x;

  constexpr explicit attending(machine<L>& m) : w{m, he_normal{1}}, x{m} {}
  constexpr auto step() {
    auto const y    = einsum<batch, length, tokens>(x, w);
    auto const z    = softmax<memory>(einsum<batch, length, memory>(y, rename<length, memory>(y)));
    auto const loss = mean(square(z));
    backward(loss);
    return loss;
  }
};
constexpr auto attended = record<attending, batch, length, memory>();
struct by_length : layout<grid, split<length, rows>, split<batch, cols>> {};
struct by_memory : layout<grid, split<memory, rows>, split<length, cols>> {};
static_assert(tests::priced_as_dry_runs<attended, attending, nothing, by_length, by_memory>);

}  // namespace
