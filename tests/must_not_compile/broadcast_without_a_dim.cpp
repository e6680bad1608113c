// error: broadcast_lacks_dim<in>
// error: meshtf: broadcast can't give the tensor these dimensions
#include <meshtf/ops/shape/broadcast.hpp>
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
  auto y = broadcast<batch, in, hidden>(x);
#else
  auto y = broadcast<batch, hidden>(x);
#endif
});
