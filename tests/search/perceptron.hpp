// For tests: the training step of a perceptron, for a search of its layout.
#pragma once

#include <meshtf/planning.hpp>

namespace meshtf::tests::perceptron {

struct batch : dim<64> {};
struct in : dim<48> {};
struct hidden : dim<1024> {};
struct out : dim<16> {};

template<Layout L>
struct training {
  parameter<float, L, in, hidden> w1;
  parameter<float, L, hidden, out> w2;
  sgd opt{0.1};
  tensor<float, L, batch, in> x;
  tensor<int, L, batch> labels;

  constexpr explicit training(machine<L>& m) : w1{m, he_normal{1}}, w2{m, he_normal{2}}, x{m}, labels{m} {}
  constexpr auto step() {
    auto h    = relu(einsum<batch, hidden>(x, w1));
    auto loss = mean(softmax_cross_entropy<out>(einsum<batch, out>(h, w2), labels));
    backward(loss);
    opt.step(parameters(w1, w2));
    return loss;
  }
};

}  // namespace meshtf::tests::perceptron
