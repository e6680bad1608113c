// error: slice_is_larger_than_dim<longer, length>
#include <meshtf/core.hpp>
#include <meshtf/plan/slice_plan.hpp>

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

#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::slice_verdict<data, meshtf::shape<batch, length>, length, rest>>);
#else
static_assert(meshtf::is_legal<meshtf::slice_verdict<data, meshtf::shape<batch, length>, length, longer>>);
#endif
