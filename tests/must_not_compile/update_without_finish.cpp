// error: gradient_is_not_summed_over<meshtf::
// error: meshtf: update takes finished gradients: finish(g)
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, in, hidden> w{m};
#ifdef FIXED
  update(w, finish(gradient(w)), 0.1);
#else
  update(w, gradient(w), 0.1);
#endif
});
