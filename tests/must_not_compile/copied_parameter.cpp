// error: deleted
// error: meshtf::
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

using weight = meshtf::parameter<float, meshtf::dry<mixed>, in, hidden>;

constexpr void frozen(weight& w) {
#ifdef FIXED
  auto v = copy(w);
#else
  auto v = w;
#endif
}
