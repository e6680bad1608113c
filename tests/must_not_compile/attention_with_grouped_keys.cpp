// error: heads_share_keys<heads, groups>
// error: meshtf: grouped keys: attention<...>(split_dim<heads, groups, each>(q), k, v)
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct heads : meshtf::dim<4> {};
struct groups : meshtf::dim<2> {};
struct each : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct model : meshtf::layout<grid, meshtf::split<groups, rows>> {};

inline constexpr auto cost = meshtf::dry_run<model>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, length, heads, key> q{m};
  meshtf::tensor<float, L, length, groups, key> k{m}, v{m};
#ifdef FIXED
  auto z = attention<length, length, key>(split_dim<heads, groups, each>(q), k, v, {.causal = true});
#else
  auto z = attention<length, length, key>(q, k, v, {.causal = true});
#endif
});
