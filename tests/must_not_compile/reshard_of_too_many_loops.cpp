// error: reshard_needs_too_many_loops<
#include <meshtf/core.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>

template<int I>
struct side : meshtf::axis<2> {};
template<int I>
struct edge : meshtf::dim<4> {};

struct cube : meshtf::mesh<side<0>, side<1>, side<2>, side<3>, side<4>, side<5>, side<6>, side<7>> {};
struct nowhere : meshtf::layout<cube> {};
template<int... I>
struct along : meshtf::layout<cube, meshtf::split<edge<I>, side<I>>...> {};
using eight = meshtf::shape<edge<0>, edge<1>, edge<2>, edge<3>, edge<4>, edge<5>, edge<6>, edge<7>>;

// One reduce-scatter of a sum over eight axes would be sixteen loops. Sliced, after finish, it is a copy of
// eight.
#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::reshard_plan<nowhere, along<0, 1, 2, 3, 4, 5, 6, 7>, eight>::verdict>);
#else
static_assert(
    meshtf::is_legal<meshtf::reshard_plan<nowhere, along<0, 1, 2, 3, 4, 5, 6, 7>, eight, 0xff>::verdict>);
#endif
