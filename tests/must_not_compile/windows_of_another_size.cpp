// error: windows_make_another_size<half, 3>
// error: meshtf: this layout can't convolve these operands
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct height : meshtf::dim<5> {};
struct half : meshtf::dim<2> {};  // 5 / 2, as Mesh TensorFlow computes it
struct rounded_up : meshtf::dim<3> {};
struct three : meshtf::dim<3> {};
struct grey : meshtf::dim<1> {};
struct out : meshtf::dim<16> {};

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, height, grey> x{m};
  meshtf::tensor<float, L, three, grey, out> filter{m};
#ifdef FIXED
  auto z = conv<meshtf::window<height, three, rounded_up, meshtf::stride<2>>, grey, out>(x, filter);
#else
  auto z = conv<meshtf::window<height, three, half, meshtf::stride<2>>, grey, out>(x, filter);
#endif
});
