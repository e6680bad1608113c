// Two small language models of equally many flops, byte by byte: a Transformer, and one whose second block
// has eight experts in the place of its feed-forward layer.
// Run:    examples/processes 1 build/release/examples/experts_text   (--model dense: the other one;
// examples/demo makes the text)
// Prints: the flops of a step of both, as the compiler knows them; every 250 steps the loss on text that was
//         held out, and how unequal the experts' loads are there (standard deviation by mean).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include <meshtf/data/text.hpp>
#include <meshtf/data/windows.hpp>
#include <meshtf/meshtf.hpp>
#include <meshtf/nn/mixture_of_experts.hpp>

#include "options.hpp"

namespace {

// clang-format off
struct batch   : meshtf::dim<16>  {};
struct length  : meshtf::dim<64>  {};
struct vocab   : meshtf::dim<256> {};
struct model   : meshtf::dim<64>  {};
struct heads   : meshtf::dim<4>   {};
struct key     : meshtf::dim<16>  {};
struct hidden  : meshtf::dim<256> {};
struct experts : meshtf::dim<8>   {};
struct inside  : meshtf::dim<200> {};  // hidden units of an expert, which has 1.25 places for each token
struct groups  : meshtf::dim<4>   {};  // of four rows of the batch, 256 tokens
// clang-format on

struct alone : meshtf::layout<meshtf::mesh<>> {};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr double stddev = 0.08;
};
constexpr double output_stddev = dims::stddev / 2;  // two blocks have four branches

template<meshtf::Layout L, bool HasExperts>
struct network {
  using feed_forward = meshtf::nn::feed_forward<float, L, model, hidden>;
  using mixture =
      meshtf::nn::mixture_of_experts<float, L, model, inside, experts, groups, meshtf::nn::switch_gating>;

  meshtf::nn::embedding<float, L, vocab, model> tokens;
  meshtf::nn::learned_positions::layer<float, L, length, model> positions;
  meshtf::nn::transformer_block<float, L, dims> first;
  meshtf::nn::layer_norm<float, L, model> norm1;
  meshtf::nn::self_attention<float, L, length, model, heads, key> attention;
  meshtf::nn::layer_norm<float, L, model> norm2;
  std::conditional_t<HasExperts, mixture, feed_forward> feed;
  meshtf::nn::layer_norm<float, L, model> last;

  constexpr network(meshtf::machine<L>& m, meshtf::nn::streams seeds)
      : tokens{m, meshtf::normal{seeds.next(), dims::stddev}},
        positions{m, meshtf::normal{seeds.next(), dims::stddev}},
        first{m, seeds, dims::stddev, output_stddev},
        norm1{m},
        attention{m, seeds, dims::stddev, output_stddev},
        norm2{m},
        feed{m, seeds, dims::stddev, output_stddev},
        last{m} {}

  /// The stream before the layer `feed`, and its norm.
  constexpr auto before(auto const& ids) const {
    auto const found = tokens(ids);
    auto const r     = first(positions(found));
    auto const x     = norm1(r.stream, r.branch);
    return norm2(x.sum, attention(x.norm));
  }
  /// The scores of what that layer adds to the stream.
  constexpr auto scores(auto const& stream, auto const& branch) const {
    auto const x = last(stream, branch);
    return tokens.logits(x.norm);
  }
  constexpr auto parameters() {
    return meshtf::parameters(named("tokens", tokens), named("positions", positions.table),
                              named("first", first), named("norm1", norm1), named("attention", attention),
                              named("norm2", norm2), named("feed", feed), named("last", last));
  }
};

template<meshtf::Layout L, bool HasExperts>
struct training {
  network<L, HasExperts> net;
  meshtf::adamw opt{8e-3, 0.1, 0.9, 0.95};
  meshtf::tensor<int, L, batch, length> ids;
  meshtf::tensor<int, L, batch, length> targets;
  float balance        = 0.05F;
  std::uint64_t number = 0;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1)
      : net{m, meshtf::nn::streams{seed}}, ids{m}, targets{m} {
    opt.max_norm = 1;
    opt.prepare(parameters(net));
  }
  constexpr auto step() {
    auto const x = net.before(ids);
    if constexpr (HasExperts) {
      auto const z = net.feed(x.norm, {.seed = 2, .stream = ++number});
      learn(mean(losses(x.sum, z.value)) + finish(z.balance_loss * balance + z.router_z_loss * 0.001F));
    } else {
      learn(mean(losses(x.sum, net.feed(x.norm))));
    }
  }
  constexpr auto losses(auto const& stream, auto const& branch) const {
    return meshtf::softmax_cross_entropy<vocab>(net.scores(stream, branch), targets);
  }

private:
  constexpr void learn(auto const& loss) {
    backward(loss);
    opt.step(parameters(net));
  }
};
template<meshtf::Layout L>
using dense_training = training<L, false>;
template<meshtf::Layout L>
using experts_training = training<L, true>;

constexpr auto cost_of_dense   = meshtf::dry_run<dense_training, alone>();
constexpr auto cost_of_experts = meshtf::dry_run<experts_training, alone>();

// the gate included; equal within 2 %
static_assert(cost_of_experts.flops() * 100 > cost_of_dense.flops() * 98 &&
              cost_of_experts.flops() * 100 < cost_of_dense.flops() * 102);

// ---- the text that was held out -------------------------------------------------------------------------

struct judged {
  double loss;
  double variation;  // of the experts' loads
  double dropped;    // of each token's choice
};

/// Adds up the counts of experts.
struct loads {
  std::array<double, experts::size> of{};
  double dropped = 0;

  void add(auto const& z) {
    auto const counts = to_global(sum<groups>(z.load));
    std::transform(counts.begin(), counts.end(), of.begin(), of.begin(),
                   [](int n, double x) { return x + n; });
    dropped += sum(z.dropped).value();
  }
  double total() const {
    double all = 0;
    for (double const n : of) all += n;
    return all;
  }
  double variation() const {
    double const fair = total() / experts::size;
    double variance   = 0;
    for (double const n : of) variance += (n - fair) * (n - fair) / experts::size;
    return std::sqrt(variance) / fair;
  }
};

/// Over all of the text. What fills up its last batch counts as a load, so let it be whole batches.
template<meshtf::Layout L, bool HasExperts>
judged judge(training<L, HasExperts>& t, meshtf::text const& held_out) {
  meshtf::no_gradient const guard{t.ids.machine()};
  meshtf::tensor<float, L, batch, length> weights{t.ids.machine()};
  meshtf::windows_in_order windows{held_out};
  double total = 0;
  loads found;
  while (windows.next(t.ids, t.targets, weights)) {
    auto const x = t.net.before(t.ids);
    if constexpr (HasExperts) {
      auto const z = t.net.feed.evaluate(x.norm);
      total += sum(t.losses(x.sum, z.value) * weights).value();
      found.add(z);
    } else {
      total += sum(t.losses(x.sum, t.net.feed(x.norm)) * weights).value();
    }
  }
  judged result{total / static_cast<double>(windows.count()), 0, 0};
  if constexpr (HasExperts) {
    result.variation = found.variation();
    result.dropped   = found.dropped / found.total();
  }
  return result;
}

// ---- the training ---------------------------------------------------------------------------------------

constexpr char const* help = R"(usage: experts_text [--model experts|dense] [--steps N] [--seed N]
                    [--rate X] [--balance X] [--data FILE]

  --model NAME   experts (the default) or dense
  --steps N      training steps of 1,024 bytes each (default: 3000)
  --seed N       of the initial parameters and the order of the text (default: 1)
  --rate X       the learning rate after the warm-up (default: 0.008)
  --balance X    the weight of the balance loss (default: 0.05)
  --data FILE    the text (default: build/data/kjv.txt, which examples/demo makes)
  --help         this text
)";

struct options {
  std::string model = "experts";
  long steps        = 3000;
  long seed         = 1;
  double rate       = 8e-3;
  double balance    = 0.05;
  std::string data  = "build/data/kjv.txt";
  bool help         = false;

  static constexpr auto settings() {
    using meshtf::setting;
    using self           = options;
    auto const is_model  = [](std::string const& name) { return name == "experts" || name == "dense"; };
    auto const is_rate   = [](double const& x) { return x > 0 && std::isfinite(x); };
    auto const is_weight = [](double const& x) { return x >= 0 && std::isfinite(x); };
    return std::tuple{setting{"model", &self::model}.expects("a model (experts or dense)", is_model),
                      setting{"steps", &self::steps}.expects(from_1, at_least<1>),
                      setting{"seed", &self::seed}.expects(from_0, at_least<0>),
                      setting{"rate", &self::rate}.expects("a number above 0", is_rate),
                      setting{"balance", &self::balance}.expects("a number from 0 on", is_weight),
                      setting{"data", &self::data},
                      setting{"help", &self::help}};
  }
};

template<template<meshtf::Layout> class Training>
void train(meshtf::machine<alone>& m, meshtf::text_parts const& text, options const& chosen) {
  auto const seed = static_cast<std::uint64_t>(chosen.seed);
  Training<alone> t{m, seed};
  t.balance = static_cast<float>(chosen.balance);
  meshtf::random_windows windows{text.training, seed};
  meshtf::warmup_cosine const rate{.peak         = chosen.rate,
                                   .warmup_steps = std::min(chosen.steps / 10, 200L),
                                   .total_steps  = chosen.steps,
                                   .floor        = chosen.rate / 20};
  for (long step = 0; step < chosen.steps;) {
    windows.next(t.ids, t.targets);
    t.opt.rate = rate(step);
    t.step();
    if (++step % 250 != 0 && step != chosen.steps) continue;
    auto const found = judge(t, text.held_out);
    std::printf("step %ld: held out %.4f", step, found.loss);
    if (chosen.model == "experts")
      std::printf(", loads vary by %.3f, %.2f %% dropped", found.variation, 100 * found.dropped);
    std::printf("\n");
    std::fflush(stdout);
  }
}

/// The text, and the first 64 batches of its last twentieth.
meshtf::text_parts read_parts(std::string const& path) {
  auto parts            = meshtf::split_text(meshtf::read_text(path));
  constexpr auto enough = static_cast<std::size_t>(64 * batch::size * length::size + 1);
  parts.held_out.bytes.resize(std::min(enough, parts.held_out.bytes.size()));
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  meshtf::environment env{argc, argv};
  meshtf::process_mesh<meshtf::mesh<>> m{env.world()};
  auto const chosen = meshtf::read_settings<options>(argc, argv);
  if (chosen.help) {
    std::printf("%s", help);
    return 0;
  }
  auto const text = read_parts(chosen.data);
  std::printf("a step: %.1f Mflop and %ld parameters dense, %.1f Mflop and %ld parameters with experts\n",
              1e-6 * static_cast<double>(cost_of_dense.flops()), cost_of_dense.parameter_bytes() / 4,
              1e-6 * static_cast<double>(cost_of_experts.flops()), cost_of_experts.parameter_bytes() / 4);
  if (chosen.model == "experts") train<experts_training>(m, text, chosen);
  else train<dense_training>(m, text, chosen);
  return 0;
}
