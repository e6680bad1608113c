// error: axis_is_not_in_mesh<planes, batch, grid>
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct planes : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

#ifdef FIXED
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};
#else
struct by_batch : meshtf::layout<grid, meshtf::split<batch, planes>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<by_batch, batch>>,
              "meshtf: this layout cannot place a tensor of these dimensions");
