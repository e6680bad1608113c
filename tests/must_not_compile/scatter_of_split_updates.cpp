// error: scattered_updates_are_split<
// error: meshtf: scatter can't write these rows to this tensor
#include <meshtf/ops/index/scatter.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct slot : meshtf::dim<32> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, slot, hidden> memory{m};
  meshtf::tensor<int, L, batch> places{m};
  meshtf::tensor<float, L, batch, hidden> rows{m};
#ifdef FIXED
  auto x = scatter_add<slot>(memory, places, rows);
#else
  auto x = scatter<slot>(memory, places, rows);
#endif
});
