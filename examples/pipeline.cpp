// A pipeline: a network whose blocks lie on four stages, trained in micro-batches. The same source without
// the rule `staged` is gradient accumulation, and gives the same bits.
// Run:    examples/processes 4 build/release/examples/pipeline
// Prints: the cost of a step on each stage, as promised and counted, and the loss under both layouts.
#include <cstdio>
#include <vector>

#include <meshtf/meshtf.hpp>

#include "promise.hpp"

namespace {

using meshtf::extent;

// clang-format off
struct batch  : meshtf::dim<64> {};
struct part   : meshtf::dim<8>  {};    // a micro-batch: an eighth of the batch
struct in     : meshtf::dim<16> {};
struct model  : meshtf::dim<32> {};
struct hidden : meshtf::dim<64> {};
struct out    : meshtf::dim<4>  {};

struct stages : meshtf::axis<4> {};
struct grid   : meshtf::mesh<stages> {};

struct whole : meshtf::layout<grid> {};                          // each process has the whole network
struct piped : meshtf::layout<grid, meshtf::staged<stages>> {};  // each has the blocks of one stage
// clang-format on

template<meshtf::Layout L>
struct block {
  meshtf::nn::linear<float, L, model, hidden> up;
  meshtf::nn::linear<float, L, hidden, model> down;

  constexpr block(meshtf::machine<L>& m, std::uint64_t seed)
      : up{m, meshtf::he_normal{seed}}, down{m, meshtf::normal{seed + 1, 0.02}} {}
  constexpr auto operator()(auto const& x) const { return x + down(gelu(up(x))); }
  constexpr auto parameters() { return meshtf::parameters(named("up", up), named("down", down)); }
};

constexpr extent blocks = 8;

template<meshtf::Layout L>
constexpr extent stage_of(extent i) {  // of block i; 0 under a layout without stages
  return i * meshtf::stage_count<L> / blocks;
}

template<meshtf::Layout L>
struct network {
  std::vector<meshtf::nn::linear<float, L, in, model>> first;  // each is made while its stage works
  std::vector<block<L>> inner;
  std::vector<meshtf::nn::linear<float, L, model, out>> last;

  constexpr explicit network(meshtf::machine<L>& m) {
    {
      auto const here = meshtf::at_stage<L>(m, 0);
      first.emplace_back(m, meshtf::he_normal{1});
    }
    inner.reserve(blocks);
    for (extent i = 0; i < blocks; ++i) {
      auto const here = meshtf::at_stage<L>(m, stage_of<L>(i));
      inner.emplace_back(m, static_cast<std::uint64_t>(10 + 2 * i));
    }
    auto const here = meshtf::at_stage<L>(m, meshtf::stage_count<L> - 1);
    last.emplace_back(m, meshtf::he_normal{2});
  }

  constexpr auto operator()(auto const& x) const {
    auto h = first[0](x);
    for (extent i = 0; i < blocks; ++i) {
      auto const received = hand_on(h, stage_of<L>(i));  // from here on this stage works
      h                   = inner[static_cast<std::size_t>(i)](received);
    }
    return last[0](h);
  }

  constexpr auto parameters() {
    return meshtf::parameters(named("first", first), named("inner", inner), named("last", last));
  }
};

template<meshtf::Layout L>
struct training {
  network<L> net;
  meshtf::adamw opt{3e-3};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<float, L, batch, out> y;

  constexpr explicit training(meshtf::machine<L>& m) : net{m}, x{m}, y{m} { opt.prepare(parameters(net)); }

  constexpr auto loss() const {  // under `piped` the pipeline, forward and backward
    return meshtf::accumulate<8>(x.machine(), [&](extent i) {
      auto const z = net(meshtf::micro_batch<batch, part>(x, i));
      return mean(square(z - meshtf::micro_batch<batch, part>(y, i))) / 8;
    });
  }
  constexpr auto step() {
    auto const l = loss();
    opt.step(parameters(net));
    return l;
  }
};

constexpr auto cost  = meshtf::dry_run<training, piped>();  // of each stage
constexpr auto alone = meshtf::dry_run<training, whole>();

static_assert(cost.stage(0).peak_bytes() == 203'264 && cost.stage(3).peak_bytes() == 163'912);
static_assert(cost.peak_bytes() == 203'264 && alone.peak_bytes() == 605'256);  // the largest of any stage
static_assert(meshtf::fits<200 * meshtf::KiB>(cost));

// 8 micro-batches of 8 x 32 floats, and as many gradients; the loss is one float
static_assert(cost.stage(0).bytes_sent<stages>() == 8 * 1024 + 6);
static_assert(cost.stage(1).bytes_sent<stages>() == 2 * 8 * 1024 + 6);
static_assert(cost.stage(1).calls<meshtf::collective::hand_on>() == 2 * 8);

struct one_at_a_time {  // a schedule of the program's own: a stage holds one micro-batch
  template<int K, int M>
  static constexpr meshtf::schedule_table<K, M> table() {
    meshtf::schedule_table<K, M> t;
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < 2 * M; ++n)
        t.at(k, n) = n % 2 == 0 ? meshtf::forward_pass(n / 2) : meshtf::backward_pass(n / 2);
    return t;
  }
};

using meshtf::gpipe;
using meshtf::held_micro_batches;
using meshtf::one_forward_one_backward;
using meshtf::schedule_ticks;
static_assert(meshtf::runs<one_forward_one_backward, 4, 8> && meshtf::runs<one_at_a_time, 4, 8>);
static_assert(schedule_ticks<one_forward_one_backward, 4, 8> == 22);  // 2 (M + K - 1): 16 without a bubble
static_assert(schedule_ticks<gpipe, 4, 8> == 22 && schedule_ticks<one_at_a_time, 4, 8> == 64);
static_assert(held_micro_batches<one_forward_one_backward, 4, 8, 0> == 4);  // by stage 0
static_assert(held_micro_batches<gpipe, 4, 8, 0> == 8 && held_micro_batches<one_at_a_time, 4, 8, 0> == 1);

template<meshtf::Layout L>
void next_batch(training<L>& t, std::uint64_t n) {
  auto& m           = t.x.machine();
  auto const secret = meshtf::random_normal<float, L, in, out>(m, {.seed = 3}, 0, 0.25);
  t.x               = meshtf::random_normal<float, L, batch, in>(m, {.seed = 4, .stream = n});
  t.y               = tanh(einsum<batch, out>(t.x, secret));
}

/// Trains, and returns the loss of a batch that no step has seen.
template<meshtf::Layout L>
float train(meshtf::process_mesh<grid>& m) {
  training<L> t{m};
  m.agree(parameters(t.net));
  next_batch(t, 0);
  auto const counted = meshtf::recorded<L>(m, [&]<class>(auto&) { t.step(); });
  if constexpr (meshtf::is_staged<L>)
    check_promise<L>(cost.stage(static_cast<int>(m.coordinate<stages>())), counted);
  else check_promise<L>(alone, counted);
  for (std::uint64_t n = 1; n < 50; ++n) {
    next_batch(t, n);
    t.step();
  }
  next_batch(t, 1000);
  meshtf::no_gradient const guard{m};  // forward passes alone
  return t.loss().value();
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<grid> m{env.world()};
  bool const is_first = m.rank() == 0;
  for (int k = 0; is_first && k < meshtf::stage_count<piped>; ++k)
    std::printf("stage %d: peak %ld bytes, %ld sent, %ld flops, %ld of parameters\n", k,
                cost.stage(k).peak_bytes(), cost.stage(k).bytes_sent(), cost.stage(k).flops(),
                cost.stage(k).parameter_bytes());
  if (is_first)
    std::printf("whole:   peak %ld bytes, %ld sent, %ld flops, %ld of parameters\n", alone.peak_bytes(),
                alone.bytes_sent(), alone.flops(), alone.parameter_bytes());
  float const of_whole = train<whole>(m);
  float const of_piped = train<piped>(m);
  if (is_first) std::printf("loss after 50 steps: %.4f whole, %.4f piped\n", of_whole, of_piped);
  return of_whole == of_piped ? 0 : 1;
}
