// error: axis_splits_dim_twice<rows, batch>
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

#ifdef FIXED
struct data : meshtf::layout<grid, meshtf::split<batch, rows, cols>> {};
#else
struct data : meshtf::layout<grid, meshtf::split<batch, rows, rows>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<data, batch>>);
