// error: two_rules_for_dim<batch>
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

#ifdef FIXED
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
#else
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<batch, cols>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<by_batch, batch>>,
              "meshtf: this layout cannot place a tensor of these dimensions");
