// error: scale_has_other_dims<
// error: meshtf: layer_norm: operands don't fit: see accepted
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
  meshtf::tensor<float, L, hidden> scale{m};
#ifdef FIXED
  meshtf::tensor<float, L, hidden> bias{m};
#else
  meshtf::tensor<float, L, batch> bias{m};
#endif
  auto z = layer_norm<hidden>(x, scale, bias);
});
