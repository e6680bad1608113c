// error: summed_dim_is_not_in_both<
// error: meshtf: matmul can't sum this dimension
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<32> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<whole>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, in> x{m};
  meshtf::tensor<float, L, in, hidden> w{m};
#ifdef FIXED
  auto h = matmul<in>(x, w);
#else
  auto h = matmul<hidden>(x, w);
#endif
});
