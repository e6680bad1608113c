// For tests: a training step that is explained, and whether an explanation says some words.
#pragma once

#include <string_view>

#include <meshtf/planning.hpp>

namespace meshtf::tests::explained {

// clang-format off
struct batch   : dim<512>  {};
struct in      : dim<784>  {};
struct hidden  : dim<4096> {};
struct classes : dim<16>   {};
// clang-format on

constexpr bool says(std::string_view text, std::string_view words) { return text.find(words) != text.npos; }

template<Layout L>
struct training {
  parameter<float, L, in, hidden> first;
  parameter<float, L, hidden, classes> second;
  sgd opt{0.1f};
  tensor<float, L, batch, in> images;
  tensor<int, L, batch> labels;

  constexpr explicit training(machine<L>& m) : first{m}, second{m}, images{m}, labels{m} {}
  constexpr auto step() {
    auto const hot  = relu(einsum<batch, hidden>(images, first));
    auto const loss = mean(softmax_cross_entropy<classes>(einsum<batch, classes>(hot, second), labels));
    backward(loss);
    opt.step(parameters(first, second));  // explanations name these lines
    return loss;
  }
};

}  // namespace meshtf::tests::explained
