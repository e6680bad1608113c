// error: dim_appears_twice<hidden>
#include <meshtf/core.hpp>

struct hidden : meshtf::dim<16> {};
struct other_hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct model : meshtf::layout<grid, meshtf::split<hidden, cols>> {};

#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::placement_verdict<model, hidden, other_hidden>>);
#else
static_assert(meshtf::is_legal<meshtf::placement_verdict<model, hidden, hidden>>);
#endif
