// error: parts_do_not_multiply_to_dim<channels, meshtf::
// error: meshtf: split_dim can't split this dimension so
#include <meshtf/ops/window/conv.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct height : meshtf::dim<6> {};
struct three : meshtf::dim<3> {};
struct out : meshtf::dim<5> {};
#ifdef FIXED
struct group : meshtf::dim<3> {};
struct member : meshtf::dim<4> {};
#else
struct group : meshtf::dim<5> {};
struct member : meshtf::dim<2> {};  // 12 / 5 of integers
#endif
struct channels : meshtf::dim<12> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, height, channels> x{m};
  auto y = split_dim<channels, group, member>(x);
#ifdef FIXED
  meshtf::tensor<float, L, three, group, member, out> filter{m};
  auto z = conv<meshtf::window<height, three>, member, out>(y, filter);
#endif
});
