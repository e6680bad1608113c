// error: shapes_differ_in_rank<
#include <meshtf/core.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};
struct memory : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

#ifdef FIXED
using other = meshtf::shape<batch, memory>;
#else
using other = meshtf::shape<batch>;
#endif
static_assert(meshtf::is_legal<
              meshtf::renaming_reshard_plan<mixed, meshtf::shape<batch, hidden>, mixed, other>::verdict>);
