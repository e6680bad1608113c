// error: parts_share_dim<half>
// error: meshtf: concat can't tell the parts of one dim apart: concat<length>(x, rename<half, other_half>(y))
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct half : meshtf::dim<2> {};
struct other_half : meshtf::dim<2> {};
struct length : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, half> x{m};
  meshtf::tensor<float, L, batch, half> y{m};
#ifdef FIXED
  auto z = concat<length>(x, rename<half, other_half>(y));
#else
  auto z = concat<length>(x, y);
#endif
});
