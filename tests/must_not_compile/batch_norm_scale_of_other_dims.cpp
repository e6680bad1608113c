// error: scale_has_other_dims<
// error: meshtf: batch_norm: operands don't fit: see accepted
#include <meshtf/ops/normalise/batch_norm.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct height : meshtf::dim<6> {};
struct channels : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, height, channels> x{m};
  meshtf::tensor<float, L, channels> scale{m};
  meshtf::tensor<float, L, channels> bias{m};
#ifdef FIXED
  auto z = meshtf::batch_norm<channels>(x, scale, bias).norm;
#else
  // the dimensions that stay are named, not those that the statistics go over
  auto z = meshtf::batch_norm<height>(x, scale, bias).norm;
#endif
});
