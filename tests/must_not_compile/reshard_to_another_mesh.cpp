// error: layouts_are_of_different_meshes<grid, line>
// error: meshtf: reshard can't bring this tensor to that layout
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct line : meshtf::mesh<rows> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct on_a_line : meshtf::layout<line, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
#ifdef FIXED
  auto y = meshtf::reshard<by_batch>(x);
#else
  auto y = meshtf::reshard<on_a_line>(x);
#endif
});
