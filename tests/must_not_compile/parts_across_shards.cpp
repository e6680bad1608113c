// error: split_runs_across_parts<hidden,
#include <meshtf/core.hpp>
#include <meshtf/plan/reshard/reshape_plan.hpp>

struct hidden : meshtf::dim<12> {};
struct three : meshtf::dim<3> {};
struct four : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct model : meshtf::layout<grid, meshtf::split<hidden, cols>> {};

// Each process has six elements of hidden: two threes, but one and a half fours.
#ifdef FIXED
using pieces = meshtf::shape<four, three>;
#else
using pieces = meshtf::shape<three, four>;
#endif
static_assert(meshtf::is_legal<meshtf::reshape_plan<model, pieces, hidden, pieces>::verdict>);
