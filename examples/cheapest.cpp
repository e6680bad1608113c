// The cheapest plan of a training step under a budget of memory. The compiler chooses together how the step
// is split, how many blocks of a Transformer it computes again, how many leave for a file, and in how many
// micro-batches it works.
// Run:    build/release/examples/cheapest
// Prints: the plans of three budgets: modelled seconds, exact peak of one process, the numbers, the layout.
#include <cstdio>
#include <string>
#include <type_traits>

#include <meshtf/planning.hpp>

namespace {

// clang-format off
struct batch   : meshtf::dim<32>   {};
struct quarter : meshtf::dim<8>    {};
struct length  : meshtf::dim<256>  {};
struct vocab   : meshtf::dim<4096> {};
struct model   : meshtf::dim<512>  {};
struct heads   : meshtf::dim<8>    {};
struct key     : meshtf::dim<64>   {};
struct hidden  : meshtf::dim<2048> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
// clang-format on

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers      = 2;
  static constexpr bool recomputes = true;
  static constexpr bool spills     = true;
};

template<meshtf::Layout L>
struct training {
  meshtf::nn::transformer<float, L, dims> net;
  meshtf::sgd opt{0.1};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  int parts;

  constexpr training(meshtf::machine<L>& m, int recomputed, int spilled, int micro_batches)
      : net{m, 1}, ids{m}, targets{m}, parts{micro_batches} {
    net.recomputed = recomputed;
    net.spilled    = spilled;
  }

  template<meshtf::Dimension Rows>
  constexpr auto loss(meshtf::tensor<int, L, Rows, length> const& in,
                      meshtf::tensor<int, L, Rows, length> const& wanted) const {
    return mean(softmax_cross_entropy<vocab>(net(in), wanted));
  }
  constexpr auto loss_of_quarter(meshtf::extent i) const {
    return loss(micro_batch<batch, quarter>(ids, i), micro_batch<batch, quarter>(targets, i)) / 4;
  }
  constexpr void step() {
    if (parts == 1) backward(loss(ids, targets));
    else meshtf::accumulate<4>([this](meshtf::extent i) { return loss_of_quarter(i); });
    opt.step(parameters(net));
  }
};

/// All that the compiler chooses from: 3 dimensions, each whole or split over any axes, and three numbers.
using space = meshtf::plan_space<meshtf::candidates<batch, heads, hidden>, meshtf::recomputed_blocks<2>,
                                 meshtf::spilled_blocks<2>, meshtf::micro_batches_of<batch, quarter>>;

/// With a file that takes 4 GB/s and gives as much.
constexpr meshtf::machine_model machine{.file_bytes_per_second = 4e9};

template<meshtf::extent Bytes>
using within = meshtf::cheapest<training, grid, meshtf::budget<Bytes, machine>, space>;

using roomy = within<1 * meshtf::GiB>;
using less  = within<roomy::peak * 60 / 100>;
using least = within<roomy::peak * 45 / 100>;

// The peak is that of a dry run, so it is exact: never beyond the budget. Less memory takes more time.
static_assert(less::peak <= roomy::peak * 60 / 100 && least::peak <= roomy::peak * 45 / 100);
static_assert(roomy::seconds <= less::seconds && less::seconds <= least::seconds);
static_assert(roomy::recomputed + roomy::spilled == 0 && roomy::micro_batches == 1);
static_assert(less::recomputed == 0 && less::micro_batches == 4 && least::recomputed == 1);

/// "batch: rows cols": the rule of one dimension.
template<class D, class... A>
std::string rule_text(std::type_identity<meshtf::split<D, A...>>) {
  std::string text{meshtf::name_of<D>()};
  text += ':';
  ((text += ' ', text += meshtf::name_of<A>()), ...);
  return text;
}
template<class M, class... Rules>
std::string layout_text(std::type_identity<meshtf::layout<M, Rules...>>) {
  std::string text;
  ((text += text.empty() ? "" : ", ", text += rule_text(std::type_identity<Rules>{})), ...);
  return text;
}

template<class Plan>
void row(char const* budget) {
  std::printf("%-8s %8s %10ld %11d %8d %14d  %s\n", budget, meshtf::seconds_text(Plan::seconds).c_str(),
              static_cast<long>(Plan::peak), Plan::recomputed, Plan::spilled, Plan::micro_batches,
              layout_text(std::type_identity<typename Plan::layout>{}).c_str());
}

}  // namespace

int main() {
  std::printf("budget    modelled       peak  recomputed  spilled  micro-batches  layout\n");
  row<roomy>("1 GiB");
  row<less>("60 %");
  row<least>("45 %");
}
