// A perceptron with three layers, and its training.
#pragma once

#include "program.hpp"

namespace accounting {

template<class T, class Optimizer, meshtf::Layout L>
struct training {
  static constexpr bool prepared = false;

  meshtf::parameter<T, L, in, hidden> w1;
  meshtf::parameter<T, L, hidden> b1;
  meshtf::parameter<T, L, hidden, inner> w2;
  meshtf::parameter<T, L, inner> b2;
  meshtf::parameter<T, L, inner, classes> w3;
  meshtf::parameter<T, L, classes> b3;
  meshtf::tensor<T, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;
  Optimizer optimizer{0.1};

  constexpr explicit training(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}},
        b1{m, meshtf::normal{2, 0.1}},
        w2{m, meshtf::he_normal{3}},
        b2{m, meshtf::normal{4, 0.1}},
        w3{m, meshtf::he_normal{5}},
        b3{m, meshtf::normal{6, 0.1}},
        x{meshtf::random_normal<T, L, batch, in>(m, {.seed = 7})},
        labels{m} {
    if constexpr (!meshtf::is_dry<L>) {
      constexpr auto dims = meshtf::placed_dims<L, meshtf::shape<batch>>;
      auto const first    = meshtf::first_indices(dims, m.place())[0];
      for (meshtf::extent i = 0; i < labels.size; ++i)
        labels.data()[i] = static_cast<int>((first + i) * 5 % classes::size);
    }
  }

  constexpr auto parameters() { return meshtf::parameters(w1, b1, w2, b2, w3, b3); }

  constexpr auto loss() const {
    auto const h1     = relu(meshtf::einsum<batch, hidden>(x, w1) + b1);
    auto const h2     = tanh(meshtf::einsum<batch, inner>(h1, w2) + b2);
    auto const logits = meshtf::einsum<batch, classes>(h2, w3) + b3;
    return mean(meshtf::softmax_cross_entropy<classes>(logits, labels));
  }

  constexpr auto step() {
    auto result = loss();
    backward(result);
    optimizer.step(parameters());
    return result;
  }
};

}  // namespace accounting
