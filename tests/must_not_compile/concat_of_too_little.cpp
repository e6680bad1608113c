// error: parts_do_not_add_up_to_dim<longer, 6>
#include <meshtf/core.hpp>
#include <meshtf/plan/concat_plan.hpp>

struct batch : meshtf::dim<8> {};
struct start : meshtf::dim<2> {};
struct rest : meshtf::dim<4> {};
struct length : meshtf::dim<6> {};
struct longer : meshtf::dim<8> {};
struct model : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

using first  = meshtf::shape<batch, start, model>;
using second = meshtf::shape<batch, rest, model>;

#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::concat_verdict<data, length, first, second>>);
#else
static_assert(meshtf::is_legal<meshtf::concat_verdict<data, longer, first, second>>);
#endif
