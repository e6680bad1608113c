// error: no_operand_has_all_dims<
// error: write_broadcast<batch, in, hidden>
// error: meshtf: operator+ can't join these operands
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, in> x{m};
  meshtf::tensor<float, L, batch, hidden> y{m};
#ifdef FIXED
  auto z = broadcast<batch, in, hidden>(x) + y;
#else
  auto z = x + y;
#endif
});
