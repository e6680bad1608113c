// error: heads_are_no_multiple<heads, groups>
// error: meshtf: attention needs a multiple of the keys' heads
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct each : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};
#ifdef FIXED
struct groups : meshtf::dim<2> {};
#else
struct groups : meshtf::dim<3> {};
#endif
struct heads : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct model : meshtf::layout<grid> {};

constexpr void look(meshtf::tensor<float, meshtf::dry<model>, length, heads, key> const& q,
                    meshtf::tensor<float, meshtf::dry<model>, length, groups, key> const& k,
                    meshtf::tensor<float, meshtf::dry<model>, length, groups, key> const& v) {
#ifdef FIXED
  auto z = attention<length, length, key>(split_dim<heads, groups, each>(q), k, v, {.causal = true});
#else
  auto z = attention<length, length, key>(q, k, v, {.causal = true});
#endif
}
