// error: halo_is_wider_than_part<height, 4, 3>
// error: meshtf: this layout can't convolve these operands
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct height : meshtf::dim<12> {};
struct nine : meshtf::dim<9> {};
struct grey : meshtf::dim<1> {};
struct out : meshtf::dim<16> {};

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct by_height : meshtf::layout<grid, meshtf::split<height, rows>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_height>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, height, grey> x{m};
  meshtf::tensor<float, L, nine, grey, out> filter{m};
#ifdef FIXED
  auto const images = meshtf::reshard<by_batch>(x);
  auto const taps   = meshtf::reshard<by_batch>(filter);
  auto z            = conv<meshtf::window<height, nine>, grey, out>(images, taps);
#else
  auto z = conv<meshtf::window<height, nine>, grey, out>(x, filter);
#endif
});
