// If it compiles, it passes: the search prices attention whose heads share keys, with rotated queries, a
// window and a bias, as a dry run does.
#include <meshtf/nn/llama.hpp>
#include <meshtf/nn/positions.hpp>
#include <meshtf/ops/normalise/cross_entropy.hpp>
#include <meshtf/ops/pointwise/square.hpp>
#include <meshtf/price/dry_run.hpp>
#include <meshtf/search/search.hpp>

#include "same_price.hpp"

namespace {

using namespace meshtf;
using meshtf::tests::same_price;

struct batch : dim<8> {};
struct length : dim<16> {};
struct vocab : dim<32> {};
struct model : dim<16> {};
struct groups : dim<2> {};
struct each : dim<2> {};
struct key : dim<4> {};
struct hidden : dim<24> {};
struct distance : dim<31> {};
struct buckets : dim<8> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct small : nn::llama_dims<length, vocab, model, groups, each, key, hidden> {
  static constexpr int layers = 2;
};

template<Layout L>
struct training {
  nn::llama<float, L, small> net;
  nn::relative_bias<float, L, buckets, each, length, distance> bias;
  tensor<int, L, batch, length> ids;

  constexpr explicit training(machine<L>& m) : net{m, 1}, bias{m, normal{1}}, ids{m} {}
  constexpr auto step() {
    auto& m           = ids.machine();
    auto const scores = net(ids);
    auto const& first = net.blocks[0].attention;
    auto const x      = net.tokens(ids);
    auto const b      = bias(m);
    auto const z = attention<length, length, key>(first.query(x), first.key(x), first.value(x), with_bias(b),
                                                  {.causal = true, .window = 4});
    auto const loss = mean(softmax_cross_entropy<vocab>(scores, ids)) + mean(square(z));
    backward(loss);
  }
};

struct by_groups
    : layout<grid, split<batch, rows>, split<groups, cols>, split<hidden, cols>, split<vocab, cols>> {};
struct by_each : layout<grid, split<batch, rows>, split<each, cols>, split<hidden, cols>> {};
struct uneven : layout<grid, padded<batch, rows>, padded<vocab, cols>, split<each, cols>> {};

constexpr auto step = record<training, batch, groups, each, hidden, vocab>();

static_assert(same_price(price<by_groups>(step), dry_run<training, by_groups>()));
static_assert(same_price(price<by_each>(step), dry_run<training, by_each>()));
static_assert(same_price(price<uneven>(step), dry_run<training, uneven>()));

}  // namespace
