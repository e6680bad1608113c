// error: pieces_do_not_add_up_to_dim<all_heads, 20>
// error: meshtf: split_into can't cut this dimension into these
#include <meshtf/ops/shape/split_into.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct all_heads : meshtf::dim<24> {};
struct heads : meshtf::dim<16> {};
struct key_heads : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, all_heads> projected{m};
#ifdef FIXED
  auto pieces = split_into<all_heads, heads, key_heads, key_heads>(projected);
#else
  auto pieces = split_into<all_heads, heads, key_heads>(projected);
#endif
});
