// error: tiled_dim_is_no_multiple<length, pattern>
// error: meshtf: tile can't repeat this dimension so
#include <meshtf/ops/shape/tile.hpp>
#include <meshtf/planning.hpp>

struct pattern : meshtf::dim<6> {};
struct model : meshtf::dim<16> {};
#ifdef FIXED
struct length : meshtf::dim<30> {};
#else
struct length : meshtf::dim<32> {};
#endif

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct by_length : meshtf::layout<grid, meshtf::split<length, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_length>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, pattern, model> x{m};
  auto repeated = tile<pattern, length>(x);
});
