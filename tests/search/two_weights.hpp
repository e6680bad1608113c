// For tests: a mesh of two axes, and the weights and data of two products.
#pragma once

#include <meshtf/planning.hpp>

namespace meshtf::tests {

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct batch : dim<16> {};
struct model : dim<32> {};
struct hidden : dim<64> {};

template<Layout L>
struct two_weights {
  parameter<float, L, model, hidden> up;
  parameter<float, L, hidden, model> down;
  sgd opt{0.1};
  tensor<float, L, batch, model> x;

  constexpr explicit two_weights(machine<L>& m) : up{m, he_normal{1}}, down{m, he_normal{2}}, x{m} {}

  /// Both products with a residual connection around them, as a function of their input.
  constexpr auto block() const {
    return
        [this](auto const& h) { return h + einsum<batch, model>(relu(einsum<batch, hidden>(h, up)), down); };
  }
};

}  // namespace meshtf::tests
