// error: too_many_dims<13, 12>
#include <meshtf/core.hpp>

template<int I>
struct side : meshtf::dim<2> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct whole : meshtf::layout<grid> {};

template<int... I>
using cube = meshtf::shape<side<I>...>;
#ifdef FIXED
static_assert(
    meshtf::is_legal<meshtf::placement_verdict_of<whole, cube<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>>>);
#else
static_assert(
    meshtf::is_legal<meshtf::placement_verdict_of<whole, cube<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13>>>);
#endif
