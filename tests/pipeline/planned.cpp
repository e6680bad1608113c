// The table of docs/pipelines.md of a decoder of 24.8 billion parameters on 8 x 16 processes, which nothing
// here could hold: a run of its step on the ledger prices all 96 blocks.
// test: program pipeline
#include <memory>
#include <vector>

#include "../layout_fixture.hpp"

namespace {

using namespace meshtf;

struct batch : dim<128> {};
struct part : dim<16> {};  // one sequence a process
struct length : dim<1024> {};
struct vocab : dim<32000> {};
struct model : dim<4608> {};
struct groups : dim<36> {};
struct each_ : dim<1> {};
struct key : dim<128> {};
struct hidden : dim<12288> {};

struct stages : axis<8> {};
struct rows : axis<16> {};
struct grid : mesh<stages, rows> {};
struct piped : layout<grid, staged<stages>, split<batch, rows>, split<part, rows>> {};

struct dims : nn::llama_dims<length, vocab, model, groups, each_, key, hidden> {};

/// A block that is computed again in the backward pass.
template<Layout L>
struct block {
  nn::llama_block<float, L, dims> inner;
  constexpr block(machine<L>& m, nn::streams& seeds) : inner{m, seeds, 0.02, 0.02} {}
  template<class X>
  constexpr X operator()(X const& x) const {
    return recompute([this](X const& y) { return inner(y); }, x);
  }
  constexpr auto parameters() { return meshtf::parameters(named("inner", inner)); }
};

template<Layout L>
struct training {
  std::vector<nn::embedding<float, L, vocab, model>> tokens;
  nn::streams seeds{1};
  nn::stack<block<L>> blocks;
  std::vector<nn::projection<float, L, model, vocab>> output;
  adamw opt{1e-3};
  tensor<int, L, batch, length> ids;
  tensor<int, L, batch, length> targets;

  constexpr training(machine<L>& m, int layers) : blocks{m, nn::depth{layers}, seeds}, ids{m}, targets{m} {
    {
      at_stage<L> const here{m, 0};
      tokens.emplace_back(m, normal{1000, 0.02});
    }
    {
      at_stage<L> const here{m, stage_count<L> - 1};
      output.emplace_back(m, normal{1001, 0.02});
    }
    opt.prepare(parameters());
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("blocks", blocks), named("output", output));
  }
  constexpr auto step() {
    auto loss = accumulate<8>(ids.machine(), [&](extent i) {
      auto const x      = tokens[0](micro_batch<batch, part>(ids, i));
      auto const y      = blocks(x);
      auto const scores = output[0](y);
      return mean(softmax_cross_entropy<vocab>(scores, micro_batch<batch, part>(targets, i))) / 8.0F;
    });
    opt.step(parameters());
    return loss;
  }
};

struct figures {
  extent parameters                     = 0;
  extent state                          = 0;
  extent peak                           = 0;
  extent sent                           = 0;
  extent flops                          = 0;
  bool operator==(figures const&) const = default;
};
constexpr figures figures_of(cost<grid> const& c) {
  return {c.parameter_bytes(), c.optimizer_bytes(), c.peak_bytes(), c.bytes_sent(), c.flops()};
}

constexpr figures of_first{12'820'856'832, 25'641'713'664, 53'517'152'256, 24'190'101'511,
                           207'807'697'649'664};
constexpr figures of_fourth{12'231'032'832, 24'462'065'664, 50'723'717'120, 23'235'176'455,
                            207'807'697'649'664};
constexpr figures of_last{12'820'856'832, 25'641'713'664, 52'287'504'392, 24'190'101'567,
                          215'055'454'961'664};

}  // namespace

TEST_CASE("a decoder of 24.8 billion parameters on eight stages of 16 processes", "[1]") {
  if (boost::mpi::communicator{}.size() != 1) return;
  extent parameters = 0;
  for (int k = 0; k < 8; ++k) {
    auto const m = std::make_unique<ledger<grid>>(threads{});
    m->stand_at<stages>(k);
    training<dry<piped>> t{*m, 96};
    m->start_over();
    {
      [[maybe_unused]] auto const loss = t.step();
    }
    m->unwind_tape(false);
    auto const all   = std::make_unique<cost<grid>>(m->noted());
    auto const found = figures_of(*all);
    parameters += found.parameters / 4;
    if (k == 0) CHECK(found == of_first);
    if (k == 3) CHECK(found == of_fourth);
    if (k == 7) CHECK(found == of_last);
  }
  CHECK(parameters == 24'756'977'664);
}
