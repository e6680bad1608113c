// The best layouts of a training step, found by the compiler: one record of the step, priced under every way
// to split its dimensions.
// Run:    build/release/examples/search
// Prints: the ranking in docs/layout_search.md: modelled milliseconds, peak, bytes sent and flops of the best
// layouts.
#include <cstdio>

#include <meshtf/planning.hpp>
#include <meshtf/search/search.hpp>

// clang-format off
struct batch  : meshtf::dim<16>  {};
struct length : meshtf::dim<32>  {};
struct vocab  : meshtf::dim<512> {};
struct model  : meshtf::dim<128> {};
struct heads  : meshtf::dim<4>   {};
struct key    : meshtf::dim<32>  {};
struct hidden : meshtf::dim<512> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 1;
};

template<meshtf::Layout L> struct training {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::adamw opt{1e-3};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  constexpr explicit training(meshtf::machine<L>& m) : net{m, 1}, ids{m}, targets{m} {
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

constexpr auto step = meshtf::record<training, batch, length, vocab, model, heads, hidden>(); // one dry run

using space = meshtf::candidates<batch, length, vocab, model, heads, hidden>;
constexpr auto ranked = meshtf::rank_layouts<grid, space>(step);
using best            = meshtf::best_layout<step, grid, space>;                   // the same, as a type

static_assert(std::same_as<best, meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<vocab, cols>,
                                                meshtf::split<heads, cols>, meshtf::split<hidden, cols>>>);
static_assert(meshtf::dry_run<training, best>().peak_bytes() == ranked[0].peak);  // the price of a dry run
// clang-format on

int main() {
  std::printf("%ld of %ld layouts can be placed. Of one process:\n\n", static_cast<long>(ranked.size()),
              static_cast<long>(ranked.looked_at()));
  std::printf("  modelled ms  peak bytes  bytes sent      flops  layout\n");
  for (std::size_t i = 0; i < 5; ++i) {
    auto const cost = meshtf::price<grid>(step, ranked.numbers(i));
    std::printf("%13.3f %11ld %11ld %10ld  %s\n", ranked[i].seconds * 1e3, static_cast<long>(ranked[i].peak),
                static_cast<long>(cost.bytes_sent()), static_cast<long>(cost.flops()),
                ranked.text(i).c_str());
  }
}
