// error: stacked_dim_is_split<
// error: meshtf: unstack can't work along this dimension
#include <meshtf/ops/shape/unstack.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct layers : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_layer : meshtf::layout<grid, meshtf::split<layers, rows>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_layer>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, layers, batch> x{m};
#ifdef FIXED
  auto each = unstack<layers>(meshtf::reshard<by_batch>(x));
#else
  auto each = unstack<layers>(x);
#endif
});
