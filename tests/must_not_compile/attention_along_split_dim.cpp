// error: attention_along_split_dim<length,
// error: meshtf: attention needs this dim whole: reshard first
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct heads : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

#ifdef FIXED
struct model : meshtf::layout<grid, meshtf::split<heads, rows>> {};
#else
struct model : meshtf::layout<grid, meshtf::split<length, rows>> {};
#endif

constexpr void look(meshtf::tensor<float, meshtf::dry<model>, length, heads, key> const& q) {
  auto z = attention<length, length, key>(q, q, q, {.causal = true});
}
