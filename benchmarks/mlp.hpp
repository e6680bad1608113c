// The same steps as by hand, in meshtf: one program, two layouts.
#pragma once

#include <meshtf/meshtf.hpp>

namespace with_meshtf {

struct batch : meshtf::dim<256> {};
struct in : meshtf::dim<512> {};
struct hidden : meshtf::dim<2048> {};
struct out : meshtf::dim<512> {};

struct few : meshtf::dim<8> {};
struct small : meshtf::dim<64> {};
struct middle : meshtf::dim<256> {};
struct end : meshtf::dim<64> {};

struct all : meshtf::axis<2> {};
struct line : meshtf::mesh<all> {};

struct data_parallel : meshtf::layout<line, meshtf::split<batch, all>> {};
struct tensor_parallel : meshtf::layout<line, meshtf::split<hidden, all>, meshtf::split<middle, all>> {};

struct one : meshtf::axis<1> {};
struct point : meshtf::mesh<one> {};
struct alone : meshtf::layout<point> {};

/// relu(x w1) w2, the mean of softmax cross entropy, w -= rate dw.
template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, hidden> w1;
  meshtf::parameter<float, L, hidden, out> w2;
  meshtf::sgd opt{0.01f};
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

/// The forward pass of a model so small that what a call costs is what counts.
template<meshtf::Layout L>
struct small_forward {
  meshtf::tensor<float, L, small, middle> w1;
  meshtf::tensor<float, L, middle, end> w2;
  meshtf::tensor<float, L, few, small> x;

  explicit small_forward(meshtf::machine<L>& m)
      : w1{meshtf::random_normal<float, L, small, middle>(m, {.seed = 1}, 0, 0.1)},
        w2{meshtf::random_normal<float, L, middle, end>(m, {.seed = 2}, 0, 0.1)},
        x{meshtf::random_normal<float, L, few, small>(m, {.seed = 3})} {}

  auto operator()() const { return einsum<few, end>(relu(einsum<few, middle>(x, w1)), w2); }
};

}  // namespace with_meshtf
