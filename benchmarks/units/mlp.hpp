// The training step of a perceptron of two layers, under three layouts of the same machine.
#pragma once

#include <meshtf/planning.hpp>

namespace unit {

struct batch : meshtf::dim<512> {};
struct in : meshtf::dim<784> {};
struct hidden : meshtf::dim<4096> {};
struct out : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct model_parallel : meshtf::layout<grid, meshtf::split<hidden, cols>> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, hidden> w1;
  meshtf::parameter<float, L, hidden, out> w2;
  meshtf::sgd opt{0.1f};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}}, w2{m, meshtf::he_normal{2}}, x{m}, labels{m} {}

  constexpr auto step() {
    auto h    = relu(einsum<batch, hidden>(x, w1));
    auto loss = mean(softmax_cross_entropy<out>(einsum<batch, out>(h, w2), labels));
    backward(loss);
    opt.step(meshtf::parameters(w1, w2));
    return loss;
  }
};

}  // namespace unit
