// error: dims_differ_in_size<hidden, in>
#include <meshtf/core.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};
struct memory : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

#ifdef FIXED
using renamed = meshtf::shape<batch, memory>;
#else
using renamed = meshtf::shape<batch, in>;
#endif
// what rename<hidden, ...>(x) asks
static_assert(meshtf::is_legal<
              meshtf::renaming_reshard_plan<mixed, meshtf::shape<batch, hidden>, mixed, renamed>::verdict>);
