// The training step of a Transformer language model of any size on random ids: for this folder's benchmark,
// and for a test of threads.
#pragma once

#include <cstdint>

#include <meshtf/training.hpp>

/// Its weights are floats; `Activation` is what it computes in. AdamW decays by 0.1, clips gradients to
/// `max_norm` if that is not 0, and shards its state on request. `Depth` is `nn::depth` where the sizes leave
/// the number of layers open.
template<meshtf::Layout L, meshtf::Dimension Batch, class Sizes, class Activation = float>
struct random_language_model {
  using length = typename Sizes::length;
  using vocab  = typename Sizes::vocab;

  meshtf::nn::transformer<float, L, Sizes, Activation> net;
  meshtf::adamw opt;
  meshtf::tensor<int, L, Batch, length> ids;
  meshtf::tensor<int, L, Batch, length> targets;

  template<class... Depth>
  constexpr random_language_model(meshtf::machine<L>& m, double rate, double max_norm, bool shard_state,
                                  Depth... depth)
      : net{m, depth..., 1}, opt{rate, 0.1}, ids{m}, targets{m} {
    opt.max_norm    = max_norm;
    opt.shard_state = shard_state;
    opt.prepare(parameters(net));
    ids     = random_ids(m, 2);
    targets = random_ids(m, 3);
  }

  static constexpr auto random_ids(meshtf::machine<L>& m, std::uint64_t seed) {
    return cast<int>(meshtf::random_uniform<float, L, Batch, length>(m, {.seed = seed}, 0, vocab::size));
  }

  constexpr auto step() {
    auto loss = mean(meshtf::softmax_cross_entropy<vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};
