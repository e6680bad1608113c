// error: dims_are_not_neighbours<
// error: meshtf: merge_dims can't merge these
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};
struct heads : meshtf::dim<4> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, heads, batch, key> x{m};
#ifdef FIXED
  auto y = merge_dims<heads, key, hidden>(transpose<batch, heads, key>(x));
#else
  auto y = merge_dims<heads, key, hidden>(x);
#endif
});
