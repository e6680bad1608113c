// error: meshtf: a tensor under a dry layout has no elements, so local() has nothing to show
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
#ifdef FIXED
  if constexpr (!meshtf::is_dry<L>) auto view = x.local();
#else
  auto view = x.local();
#endif
});
