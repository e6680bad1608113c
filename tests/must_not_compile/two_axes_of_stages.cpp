// error: two_axes_of_stages<stages, rows>
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};

struct stages : meshtf::axis<2> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<stages, rows> {};

#ifdef FIXED
struct piped : meshtf::layout<grid, meshtf::staged<stages>> {};
#else
struct piped : meshtf::layout<grid, meshtf::staged<stages>, meshtf::staged<rows>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<piped, batch>>);
