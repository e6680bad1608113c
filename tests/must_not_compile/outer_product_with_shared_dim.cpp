// error: dim_is_in_both<
// error: meshtf: outer_product's operands share a dimension
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<whole>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
  meshtf::tensor<float, L, hidden> y{m};
#ifdef FIXED
  auto z = x * y;
#else
  auto z = outer_product(x, y);
#endif
});
