// error: parts_do_not_multiply_to_dim<hidden, meshtf::
// error: meshtf: split_dim can't split this dimension so
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
  meshtf::tensor<float, L, batch, hidden> x{m};
#ifdef FIXED
  auto y = split_dim<hidden, heads, key>(x);
#else
  auto y = split_dim<hidden, heads, batch>(x);
#endif
});
