// error: meshtf: the mesh of this cost has no such axis
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct planes : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
  auto y = sum(x);
});
#ifdef FIXED
static_assert(cost.bytes_sent<rows>() <= 100);
#else
static_assert(cost.bytes_sent<planes>() <= 100);
#endif
