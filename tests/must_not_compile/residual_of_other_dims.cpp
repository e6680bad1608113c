// error: addend_has_other_dims<
// error: meshtf: residual_layer_norm: operands don't fit: see accepted
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, in> x{m};
  meshtf::tensor<float, L, batch, in> y{m};
  meshtf::tensor<float, L, in> scale{m};
  meshtf::tensor<float, L, in> bias{m};
#ifdef FIXED
  auto z = residual_layer_norm<in>(x, y, scale, bias);
#else
  auto z = residual_layer_norm<in>(x, bias, scale, bias);
#endif
});
