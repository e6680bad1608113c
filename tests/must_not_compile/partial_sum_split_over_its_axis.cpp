// error: unreduced_axis_splits_dim<cols, hidden>
// error: meshtf: rename can't split a partial sum over an unreduced axis: reshard or finish first
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<16> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
  meshtf::tensor<float, L, hidden, in> w{m};
  auto p = meshtf::partial_einsum<batch, in>(x, w);
#ifdef FIXED
  auto y = rename<in, hidden>(finish(p));
#else
  auto y = rename<in, hidden>(p);
#endif
});
