// error: memory_has_other_dims<
// error: meshtf: attention can't work with these operands
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct source : meshtf::dim<8> {};
struct heads : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct model : meshtf::layout<grid, meshtf::split<heads, rows>> {};

inline constexpr auto cost = meshtf::dry_run<model>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, length, heads, key> q{m};
  meshtf::tensor<float, L, source, heads, key> k{m}, v{m};
#ifdef FIXED
  auto z = attention<length, source, key>(q, k, v);
#else
  auto z = attention<length, length, key>(q, k, v);
#endif
});
