// error: reshard_would_permute<hidden, cols>
// error: meshtf: reshard can't bring this tensor to that layout
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct outer_rows : meshtf::layout<grid, meshtf::split<hidden, rows, cols>> {};
struct by_cols : meshtf::layout<grid, meshtf::split<hidden, cols>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, meshtf::dry<outer_rows>, hidden> x{m};
#ifdef FIXED
  auto z = meshtf::reshard<by_cols>(meshtf::reshard<whole>(x));
#else
  auto z = meshtf::reshard<by_cols>(x);
#endif
});
