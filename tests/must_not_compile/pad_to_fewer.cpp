// error: padded_dim_is_smaller<rounded, words>
// error: meshtf: pad can't give this dimension further elements
#include <meshtf/ops/shape/pad.hpp>
#include <meshtf/planning.hpp>

struct words : meshtf::dim<50257> {};
struct model : meshtf::dim<64> {};
#ifdef FIXED
struct rounded : meshtf::dim<50304> {};
#else
struct rounded : meshtf::dim<50240> {};
#endif

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct by_words : meshtf::layout<grid, meshtf::split<rounded, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_words>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, words, model> table{m};
  auto x = pad<words, rounded>(table, 0);
});
