// error: still_a_sum_over<meshtf::
// error: meshtf: backward starts at a finished number: backward(finish(p))
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

using L = meshtf::dry<data_parallel>;

constexpr void learn(meshtf::tensor<float, L, batch> const& x, meshtf::parameter<float, L> const& w) {
  auto const errors = x - w;
  auto const p      = meshtf::partial_einsum<>(errors, errors);
#ifdef FIXED
  backward(finish(p));
#else
  backward(p);
#endif
}
