// The multi-layer perceptron of mlp.cpp, and its training step: one source, any layout.
#pragma once

#include <cstdint>

#include <meshtf/meshtf.hpp>

namespace fashion {

// clang-format off
struct batch    : meshtf::dim<256> {};   // dimensions: a name and a size
struct pixels   : meshtf::dim<784> {};
struct hidden   : meshtf::dim<512> {};
struct features : meshtf::dim<128> {};
struct classes  : meshtf::dim<10>  {};
// clang-format on

template<meshtf::Layout L>
struct mlp {
  // clang-format off
  meshtf::parameter<float, L, pixels, hidden>    w1;
  meshtf::parameter<float, L, hidden>            b1;
  meshtf::parameter<float, L, hidden, features>  w2;
  meshtf::parameter<float, L, features>          b2;
  meshtf::parameter<float, L, features, classes> w3;
  meshtf::parameter<float, L, classes>           b3;
  // clang-format on

  constexpr mlp(meshtf::machine<L>& m, std::uint64_t seed)
      : w1{m, meshtf::he_normal{3 * seed}},
        b1{m},
        w2{m, meshtf::he_normal{3 * seed + 1}},
        b2{m},
        w3{m, meshtf::he_normal{3 * seed + 2}},
        b3{m} {}

  constexpr auto operator()(auto const& x) const {
    auto h = relu(einsum<batch, hidden>(x, w1) + b1);
    // sums over hidden: where that is split, an all-reduce over its axes
    auto f = relu(einsum<batch, features>(h, w2) + b2);
    return einsum<batch, classes>(f, w3) + b3;
  }
  constexpr auto parameters() { return meshtf::parameters(w1, b1, w2, b2, w3, b3); }
};

template<meshtf::Layout L>
struct training {
  mlp<L> net;
  meshtf::adam opt{1e-3};
  meshtf::tensor<float, L, batch, pixels> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m, std::uint64_t seed = 1)
      : net{m, seed}, x{m}, labels{m} {}

  constexpr auto step() {
    auto loss = mean(softmax_cross_entropy<classes>(net(x), labels));
    backward(loss);
    opt.step(parameters(net));  // adds the gradients up over the processes that share a parameter
    return loss;
  }

  /// How many of the batch the network names rightly.
  constexpr auto hits() const {
    auto off = cast<float>(argmax<classes>(net(x)) - labels);
    return sum(relu(1 - square(off)));  // 1 where the two are equal, else 0
  }
};

}  // namespace fashion
