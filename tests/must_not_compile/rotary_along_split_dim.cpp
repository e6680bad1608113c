// error: rotated_dim_is_split<key,
// error: meshtf: rotary can't rotate along this dimension by these positions
#include <meshtf/ops/pointwise/rotary.hpp>
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct heads : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

#ifdef FIXED
struct model : meshtf::layout<grid, meshtf::split<heads, rows>> {};
#else
struct model : meshtf::layout<grid, meshtf::split<key, rows>> {};
#endif

inline constexpr auto cost = meshtf::dry_run<model>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, length, heads, key> q{m};
  auto z = rotary<length, key>(q);
});
