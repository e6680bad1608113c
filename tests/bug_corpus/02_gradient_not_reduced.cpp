// error: gradient_is_not_summed_over<meshtf::
// error: meshtf: update takes finished gradients: finish(g)
//
// NVIDIA/Megatron-LM#7452, #1446: gradients were not reduced, reduced twice, or reduced over the wrong group,
// and training went on with wrong numbers. Here a gradient that is still a sum over processes has a type of
// its own, and nothing but a finished one updates a parameter. Finishing twice is harmless.
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, in, hidden> w{m};
  meshtf::tensor<float, L, batch, in> x{m};
  backward(sum(einsum<batch, hidden>(x, w)));
#ifdef FIXED
  update(w, finish(finish(gradient(w))), 0.1);
#else
  update(w, gradient(w), 0.1);
#endif
});
