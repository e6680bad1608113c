// error: axis_of_stages_splits_dim<stages, batch>
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};

struct stages : meshtf::axis<2> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<stages, rows> {};

// each stage has other tensors, so no dimension can be split over the axis
#ifdef FIXED
struct piped : meshtf::layout<grid, meshtf::staged<stages>, meshtf::split<batch, rows>> {};
#else
struct piped : meshtf::layout<grid, meshtf::staged<stages>, meshtf::split<batch, stages>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<piped, batch>>);
