// What the tests of optimizers train: every way in which a parameter's processes can share it.
#pragma once

#include "../layout_fixture.hpp"

namespace optim {

using namespace fixture;

/// A weight that is used twice, a bias that is split as the weight is, one that no layout splits and that is
/// not divisible by 4 or 8, a temperature, and two parameters that get one and the same gradient.
template<class T, Layout L>
struct model_of {
  parameter<T, L, in, hidden> w;
  parameter<T, L, hidden> b;
  parameter<T, L, in> c;
  parameter<T, L> t;
  parameter<T, L, hidden, out> u;
  parameter<T, L, hidden, out> v;

  constexpr explicit model_of(machine<L>& m)
      : w{m, glorot_uniform{1}},
        b{m, normal{2, 0.1}},
        c{m, normal{3, 0.1}},
        t{m, constant{0.5}},
        u{m, normal{4, 0.3}},
        v{m, normal{5, 0.3}} {}

  constexpr auto parameters() { return meshtf::parameters(w, b, c, t, u, v); }

  constexpr auto loss(tensor<T, L, batch, in> const& x) const {
    auto const h = tanh(einsum<batch, hidden>(x, w) + b);
    auto const y = einsum<batch, in>(h * t, w) + c;
    auto const e = mean(square(y - x));
    auto const s = u + v;
    auto const z = einsum<batch, out>(h, s);
    return e + mean(square(z));
  }
};

template<class T, class L>
constexpr auto data_of(machine<L>& m) {
  return random_normal<T, L, batch, in>(m, {.seed = 21});
}

template<Layout L>
constexpr extent replicas(axis_set split) {
  return processes_along(axis_sizes<typename L::mesh_type>, joining_axes<typename L::mesh_type> & ~split);
}

}  // namespace optim
