// For tests: the training step of a Transformer, for a search of its layout.
#pragma once

#include <meshtf/planning.hpp>

namespace meshtf::tests {

template<Layout L, class Batch, class Dims>
struct language_training {
  nn::transformer<float, L, Dims> net;
  adamw opt{1e-3};
  tensor<int, L, Batch, typename Dims::length> ids;
  tensor<int, L, Batch, typename Dims::length> targets;

  constexpr explicit language_training(machine<L>& m) : net{m, 1}, ids{m}, targets{m} {}
  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<typename Dims::vocab>(net(ids), targets));
    backward(loss);
    opt.step(parameters(net));
    return loss;
  }
};

}  // namespace meshtf::tests
