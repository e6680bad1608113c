// error: sort_along_split_dim<
// error: reshard_for<
// error: meshtf: sort can't work along this dimension
#include <meshtf/ops/reduce/sort.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<32> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> scores{m};
#ifdef FIXED
  auto x = sort<batch>(meshtf::reshard<whole>(scores));
#else
  auto x = sort<batch>(scores);
#endif
});
