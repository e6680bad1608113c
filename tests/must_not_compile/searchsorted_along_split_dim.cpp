// error: search_along_split_dim<
// error: reshard_for<
// error: meshtf: searchsorted can't look for these values along this dimension
#include <meshtf/ops/index/searchsorted.hpp>
#include <meshtf/planning.hpp>

struct bins : meshtf::dim<32> {};
struct batch : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_bins : meshtf::layout<grid, meshtf::split<bins, rows>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<by_bins>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, bins> edges{m};
  meshtf::tensor<float, L, batch> x{m};
#ifdef FIXED
  auto bin = searchsorted<bins>(meshtf::reshard<whole>(edges), meshtf::reshard<whole>(x));
#else
  auto bin = searchsorted<bins>(edges, x);
#endif
});
