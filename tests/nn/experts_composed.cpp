// Models with experts in every second block, with all that may be around them: stages, weights that are kept
// in parts, mixed precision, recomputation, dropout, shared state of optimizers, clipping. Losses and weights
// are those of one process, or those without.
// test: long
#include <cmath>
#include <cstdint>
#include <vector>

#include <meshtf/nn/experts_in_blocks.hpp>

#include "packed_rows.hpp"

namespace {

using namespace packed_rows;

struct batch : dim<8> {};
struct part : dim<4> {};  // two micro-batches
struct source : dim<12> {};
struct target : dim<10> {};
struct vocab : dim<32> {};
struct width : dim<16> {};
struct heads : dim<4> {};
struct key : dim<4> {};
struct hidden : dim<24> {};
struct inside : dim<20> {};
struct experts : dim<4> {};
struct groups : dim<4> {};  // each row of a micro-batch

struct cols : axis<2> {};
struct wide : axis<4> {};
struct line_of_four : mesh<wide> {};
struct square : mesh<rows, cols> {};
struct stages_and_rows : mesh<stages, rows> {};

/// Experts over the axis of the batch.
template<class... A>
struct over {
  template<class M, class... Rule>
  struct on
      : layout<M, split<batch, A...>, split<part, A...>, split<groups, A...>, split<experts, A...>, Rule...> {
  };
};
struct by_two : over<rows>::on<line> {};
struct inside_too : over<rows>::on<square, split<inside, cols>, split<hidden, cols>, split<heads, cols>> {};
struct kept_by_two : over<rows>::on<line, kept_over<rows>> {};
struct kept_by_four : over<wide>::on<line_of_four, kept_over<wide>> {};
struct piped_by_two : over<rows>::on<stages_and_rows, staged<stages>> {};

template<int Encoder, int Decoder>
struct dims : nn::seq2seq_dims<source, target, vocab, width, heads, key, hidden> {
  using feed_forward                  = nn::experts_in_every_second_block<experts, groups, inside>;
  static constexpr int encoder_layers = Encoder;
  static constexpr int decoder_layers = Decoder;
};
struct causal_dims : nn::transformer_dims<source, vocab, width, heads, key, hidden> {
  using feed_forward          = nn::experts_in_every_second_block<experts, groups, inside>;
  static constexpr int layers = 4;
};

/// What a training does besides.
struct extras {
  bool recomputes = false;
  bool shards     = false;
  double clips_at = 0;
};

/// Whatever `z` is a loss of, with those of its experts, in proportion to `weight`.
template<class Z, class W>
constexpr auto with_losses_of_experts(Z const& z, W const& weight) {
  auto const of_experts = finish(z.balance_loss * 0.02 + z.router_z_loss * 0.01);
  return z.value + weight * of_experts;
}

template<Layout L, Dimension Along>
constexpr auto ids(machine<L>& m, std::uint64_t seed) {
  return random_ids<float, L, vocab, batch, Along>(m, seed);
}
template<Layout L, Dimension Along>
constexpr auto segments(machine<L>& m) {
  return segments_of_rows<L, batch, Along>(m);
}

template<class T, Layout L, class Activation, int Encoder = 2, int Decoder = 3>
struct translation {
  nn::seq2seq<T, L, dims<Encoder, Decoder>, Activation> net;
  adamw opt{1e-2};
  machine<L>* m;
  std::uint64_t number = 0;

  constexpr explicit translation(machine<L>& on, extras const& with = {}) : net{on, 1}, m{&on} {
    net.encoder.recompute_blocks = net.decoder.recompute_blocks = with.recomputes;
    opt.max_norm                                                = with.clips_at;
    opt.shard_state                                             = with.shards;
  }
  constexpr auto step() {
    auto const pairs = nn::packed_pairs{ids<L, source>(*m, 3), segments<L, source>(*m), ids<L, target>(*m, 4),
                                        segments<L, target>(*m)};
    auto const micro = [&](extent i) { return pairs.template part<batch, part>(i); };
    auto const first = 2 * number++;
    auto const loss  = accumulate<2>(
        *m,
        [&](extent i) {
          random_key const random{.seed = 1, .stream = first + static_cast<std::uint64_t>(i)};
          auto const some = micro(i);
          auto const z    = net.loss(some, {.dropout = {.rate = 0.1, .random = random, .trains = true}});
          return with_losses_of_experts(z, counted_on_last(some));
        },
        [&](extent i) { return net.count(micro(i)); });
    opt.step(net.parameters());
    return loss;
  }

private:
  /// Under stages, of what the last one has.
  template<class Pairs>
  constexpr auto counted_on_last(Pairs const& some) const {
    if constexpr (is_staged<L>) return net.count(some.on_stage(stage_count<L> - 1, {}));
    else return net.count(some);
  }
};

template<class T, Layout L, class Activation>
struct prediction {
  nn::transformer<T, L, causal_dims, Activation> net;
  adamw opt{1e-2};
  machine<L>* m;
  std::uint64_t number = 0;

  constexpr explicit prediction(machine<L>& on, extras const& with = {}) : net{on, 1}, m{&on} {
    opt.max_norm    = with.clips_at;
    opt.shard_state = with.shards;
  }
  constexpr auto step() {
    auto const all   = ids<L, source>(*m, 3);
    auto const first = 2 * number++;
    auto const loss  = accumulate<2>(*m, [&](extent i) {
      auto const some = micro_batch<batch, part>(all, i);
      auto const z = net(some, {.trains = true, .random = {.seed = 1, .stream = first + std::uint64_t(i)}});
      auto const each = softmax_cross_entropy<vocab>(z.value, hand_on(some, stage_count<L> - 1));
      auto const task = mean(each);
      return with_losses_of_experts(nn::routed{task, z.balance_loss, z.router_z_loss, z.dropped}, 1.0) / 2;
    });
    opt.step(net.parameters());
    return loss;
  }
};

template<class Training, class M>
std::vector<double> losses(M& m, extras const& with = {}) {
  Training t{m, with};
  std::vector<double> all;
  for (int i = 0; i < 3; ++i) all.push_back(static_cast<double>(t.step().value()));
  return all;
}

void agree(std::vector<double> const& own, std::vector<double> const& truth, double tolerance) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    INFO("step " << i);
    CHECK(std::isfinite(truth[i]));
    CHECK(std::abs(own[i] - truth[i]) <= tolerance * std::abs(truth[i]));
  }
}

template<Layout L>
using translates = translation<double, L, double>;
template<Layout L>
using predicts = prediction<double, L, double>;
template<Layout L>
using predicts_in_bfloat16 = prediction<float, L, bfloat16>;

template<template<Layout> class Training, Layout L>
std::vector<double> losses_under(extras const& with = {}) {
  return losses<Training<L>>(processes<typename L::mesh_type>(), with);
}
template<template<Layout> class Training>
std::vector<double> losses_of_one(extras const& with = {}) {
  return losses<Training<whole>>(processes<single>(alone()), with);
}

struct step_of_stages {
  template<Layout L>
  constexpr void operator()(machine<L>& m) const {
    predicts<L> t{m};
    auto const loss = t.step();
  }
};

int size() { return communicator{}.size(); }

}  // namespace

TEST_CASE("an encoder and decoder with experts have the losses of one process, in stages and recomputed too",
          "[4]") {
  auto const truth = losses_of_one<translates>();
  auto const own   = losses_under<translates, inside_too>();
  auto const piped = losses_under<translates, piped_by_two>();
  agree(own, truth, 1e-10);
  agree(piped, truth, 1e-10);
  CHECK(losses_under<translates, inside_too>({.recomputes = true}) == own);
  CHECK(losses_under<translates, piped_by_two>({.recomputes = true}) == piped);
}

TEST_CASE("stages of a transformer with experts have the losses of one process, at the promised price",
          "[2]") {
  agree(losses_under<predicts, piped>(), losses_of_one<predicts>(), 1e-10);
  expect_price<piped, step_of_stages>(processes<line_of_stages>());
}

TEST_CASE("experts whose weights are kept in parts have the losses of one process", "[2][4]") {
  auto const truth = losses_of_one<predicts>();
  if (size() == 2) agree(losses_under<predicts, kept_by_two>(), truth, 1e-10);
  else agree(losses_under<predicts, kept_by_four>(), truth, 1e-10);
}

TEST_CASE("optimizers of experts clip their gradients and share their state as on one process", "[2][4]") {
  extras const both{.shards = true, .clips_at = 0.1};
  auto const truth = losses_of_one<predicts>({.clips_at = 0.1});
  CHECK(truth[2] > losses_of_one<predicts>()[2]);  // it clips
  if (size() == 2) agree(losses_under<predicts, by_two>(both), truth, 1e-10);
  else agree(losses_under<predicts, inside_too>(both), truth, 1e-10);
}

TEST_CASE("experts in mixed precision have the losses of one process in double, to rounding", "[2][4]") {
  auto const truth = losses_of_one<predicts>();
  if (size() == 2) agree(losses_under<predicts_in_bfloat16, by_two>(), truth, 0.02);
  else agree(losses_under<predicts_in_bfloat16, inside_too>(), truth, 0.02);
}
