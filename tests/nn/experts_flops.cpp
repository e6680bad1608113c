// The flops of a model with experts are those of one without, to 2 %, where an expert is as wide as in
// examples/translation.cpp: four fifths of a feed-forward layer. The gate counts too.
// test: long
#include <meshtf/planning.hpp>

#include <meshtf/nn/experts_in_blocks.hpp>

namespace {

using namespace meshtf;

// the size tiny of examples/translation.cpp
struct batch : dim<16> {};
struct source : dim<80> {};
struct target : dim<96> {};
struct vocab : dim<2000> {};
struct width : dim<128> {};
struct heads : dim<4> {};
struct key : dim<32> {};
struct hidden : dim<512> {};
struct inside : dim<512 * 4 / 5 / 8 * 8> {};
struct experts : dim<8> {};
struct groups : dim<4> {};

struct rows : axis<4> {};
struct grid : mesh<rows> {};
struct spread : layout<grid, split<batch, rows>, split<groups, rows>, split<experts, rows>> {};

template<class Feeds>
struct dims : nn::seq2seq_dims<source, target, vocab, width, heads, key, hidden> {
  using feed_forward                  = Feeds;
  static constexpr int encoder_layers = 2;
  static constexpr int decoder_layers = 2;
};

template<class Feeds>
struct passes {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    nn::seq2seq<float, L, dims<Feeds>> net{m, 1};
    tensor<int, L, batch, source> const from{m};
    tensor<int, L, batch, target> const to{m};
    nn::seq2seq_loss_options const how{.dropout = {.random = {.seed = 1}, .trains = true}};
    auto const z = net.loss(nn::packed_pairs{from, from, to, to}, how);
    if constexpr (requires { z.value; }) backward(z.value + finish(z.balance_loss + z.router_z_loss));
    else backward(z);
  }
};

constexpr auto with = dry_run<spread>(passes<nn::experts_in_every_second_block<experts, groups, inside>>{});
constexpr auto without = dry_run<spread>(passes<nn::feed_forward_in_every_block>{});

static_assert(with.flops() * 100 > without.flops() * 98 && with.flops() * 100 < without.flops() * 102);

// of two layers of experts, each with two all-to-alls in each pass
static_assert(with.calls<collective::all_to_all>() == 2 * 4 && without.calls<collective::all_to_all>() == 0);
static_assert(with.calls<collective::all_reduce>() == without.calls<collective::all_reduce>() + 1);

}  // namespace
