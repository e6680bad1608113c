// error: split_runs_across_parts<hidden,
//
// pytorch/pytorch#179502, openxla/xla#13306: view() of a tensor whose dimension was split gave wrong numbers,
// or sent the whole tensor. Here a split into parts that the shards cut through does not compile; one along
// the shards moves nothing.
#include <meshtf/core.hpp>
#include <meshtf/plan/reshard/reshape_plan.hpp>

struct hidden : meshtf::dim<12> {};
struct three : meshtf::dim<3> {};
struct four : meshtf::dim<4> {};

struct cols : meshtf::axis<2> {};
struct line : meshtf::mesh<cols> {};
struct model : meshtf::layout<line, meshtf::split<hidden, cols>> {};

// What split_dim<hidden, ...>(x) asks. Each process has six elements: one and a half fours, but two threes.
#ifdef FIXED
using pieces = meshtf::shape<four, three>;
#else
using pieces = meshtf::shape<three, four>;
#endif
static_assert(meshtf::is_legal<meshtf::reshape_plan<model, pieces, hidden, pieces>::verdict>);
