// error: no member named
//
// pytorch/pytorch#172932, pytorch/torchtitan#1805: to_local() handed out the local terms of a pending sum,
// and the placement of their gradient was lost or guessed. Here a partial sum has no local(): its local terms
// are not handed out. A finished tensor has.
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

using sum_over_cols =
    meshtf::partial<meshtf::tensor<float, meshtf::dry<mixed>, batch, in>, meshtf::axes<cols>>;

constexpr void look(sum_over_cols const& p) {
#ifdef FIXED
  (void)finish(p);
#else
  (void)p.local();
#endif
}
