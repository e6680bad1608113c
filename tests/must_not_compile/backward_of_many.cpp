// error: loss_has_dims<batch>
// error: backward(sum(x)) or backward(mean(x))
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

using L = meshtf::dry<data_parallel>;

constexpr void learn(meshtf::tensor<float, L, batch, in> const& x, meshtf::parameter<float, L, in> const& w) {
  auto const errors = meshtf::einsum<batch>(x, w);
#ifdef FIXED
  backward(mean(errors));
#else
  backward(errors);
#endif
}
