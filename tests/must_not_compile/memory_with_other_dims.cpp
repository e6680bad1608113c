// error: memory_has_other_dims<
// error: meshtf: attention: k, v: q's dims, memory for query
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct source : meshtf::dim<8> {};
struct key : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct replicated : meshtf::layout<grid> {};

constexpr void look(meshtf::tensor<float, meshtf::dry<replicated>, length, key> const& q,
                    meshtf::tensor<float, meshtf::dry<replicated>, source, key> const& k,
                    meshtf::tensor<float, meshtf::dry<replicated>, source, key> const& v) {
#ifdef FIXED
  auto z = attention<length, source, key>(q, k, v);
#else
  auto z = attention<length, length, key>(q, k, v);
#endif
}
