// The table of docs/pipelines.md of the deepest Transformer that fits into 64 MiB a process: the compiler
// prices one, and a run of the same program on the ledger all of them.
// test: program pipeline
#include <vector>

#include "../layout_fixture.hpp"

namespace {

using namespace meshtf;

struct batch : dim<32> {};
template<int M>
struct part : dim<32 / M> {};
struct length : dim<64> {};
struct vocab : dim<256> {};
struct model : dim<128> {};
struct heads : dim<4> {};
struct key : dim<32> {};
struct hidden : dim<512> {};

template<int K>
struct stages : axis<K> {};
template<int K>
struct line : mesh<stages<K>> {};
template<int K>
struct piped : layout<line<K>, staged<stages<K>>> {};

struct dims : nn::transformer_dims<length, vocab, model, heads, key, hidden> {};

/// What is computed again in the backward pass.
enum class again { nothing, stage, block };

template<Layout L, again Again>
struct net {
  std::vector<nn::embedding<float, L, vocab, model>> tokens;
  std::vector<nn::transformer_block<float, L, dims>> blocks;
  std::vector<nn::projection<float, L, model, vocab>> output;

  constexpr net(machine<L>& m, int layers) {
    nn::streams seeds{1};
    {
      at_stage<L> const here{m, 0};
      tokens.emplace_back(m, normal{1000, 0.02});
    }
    blocks.reserve(static_cast<std::size_t>(layers));
    for (int i = 0; i < layers; ++i) {
      at_stage<L> const here{m, nn::stage_of<L>(i, layers)};
      blocks.emplace_back(m, seeds, 0.02, 0.02);
    }
    at_stage<L> const here{m, stage_count<L> - 1};
    output.emplace_back(m, normal{1001, 0.02});
  }

  constexpr auto operator()(auto const& ids) const {
    auto x           = tokens[0](ids);
    int const layers = static_cast<int>(blocks.size());
    for (int begin = 0; begin < layers;) {
      int const stage = nn::stage_of<L>(begin, layers);
      int end         = begin;
      while (end < layers && nn::stage_of<L>(end, layers) == stage) ++end;
      x              = hand_on(x, stage);
      auto const all = [this, begin, end](auto const& a) { return this->through(begin, end, a); };
      if constexpr (Again == again::stage) x = recompute(all, x);
      else x = all(x);
      begin = end;
    }
    return output[0](x);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("blocks", blocks), named("output", output));
  }

private:
  constexpr auto through(int begin, int end, auto const& a) const {
    auto y = a;
    for (int i = begin; i < end; ++i) {
      auto const block = [this, i](auto const& b) {
        auto const r = blocks[static_cast<std::size_t>(i)](b);
        return r.stream + r.branch;
      };
      if constexpr (Again == again::block) y = recompute(block, y);
      else y = block(y);
    }
    return y;
  }
};

template<Layout L, int M, again Again>
struct training_of {
  net<L, Again> model_;
  adamw opt{1e-3};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  constexpr training_of(machine<L>& m, int layers) : model_{m, layers}, ids{m}, targets{m} {
    opt.prepare(parameters(model_));
  }
  constexpr auto step() {
    auto loss = accumulate<M>(ids.machine(), [&](extent i) {
      auto const scores = model_(micro_batch<batch, part<M>>(ids, i));
      return mean(softmax_cross_entropy<vocab>(scores, micro_batch<batch, part<M>>(targets, i))) / float{M};
    });
    opt.step(parameters(model_));
    return loss;
  }
};
template<Layout L>
using at_once = training_of<L, 1, again::nothing>;
template<Layout L>
using in_eight = training_of<L, 8, again::nothing>;
template<Layout L>
using stage_again = training_of<L, 8, again::stage>;
template<Layout L>
using block_again = training_of<L, 8, again::block>;

/// As `dry_run` has it, in a run: the largest peak of any stage.
template<template<Layout> class Program, int K>
extent peak_of(int layers) {
  extent most = 0;
  for (int k = 0; k < K; ++k) {
    ledger<line<K>> m{threads{}};
    m.template stand_at<stages<K>>(k);
    Program<dry<piped<K>>> program{m, layers};
    m.start_over();
    {
      [[maybe_unused]] auto const loss = program.step();
    }
    m.unwind_tape(false);
    most = std::max(most, m.noted().peak_bytes());
  }
  return most;
}

constexpr extent bound = 64 * MiB;

template<template<Layout> class Program, int K>
void check_deepest(int layers) {
  INFO(layers << " layers on " << K << " stages");
  CHECK(peak_of<Program, K>(layers) <= bound);
  CHECK(peak_of<Program, K>(layers + 1) > bound);
}

constexpr auto on_one = dry_run<in_eight, piped<1>>(12);
static_assert(on_one.peak_bytes() == 65'315'848 && fits<bound>(on_one));

}  // namespace

TEST_CASE("the deepest Transformer that fits grows with the number of stages", "[1]") {
  if (boost::mpi::communicator{}.size() != 1) return;
  CHECK(peak_of<in_eight, 1>(12) == on_one.peak_bytes());
  check_deepest<at_once, 1>(3);
  check_deepest<in_eight, 1>(12);
  check_deepest<in_eight, 2>(16);
  check_deepest<in_eight, 4>(20);
  check_deepest<in_eight, 8>(24);
  check_deepest<stage_again, 1>(12);
  check_deepest<stage_again, 2>(24);
  check_deepest<stage_again, 4>(48);
  check_deepest<stage_again, 8>(96);
  check_deepest<block_again, 1>(19);
  check_deepest<block_again, 2>(36);
  check_deepest<block_again, 4>(68);
  check_deepest<block_again, 8>(120);
}
