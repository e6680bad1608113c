// error: dim_appears_twice<length>
//
// marin-community/haliax#13, #53: a name may occur once in a tensor, but the scores of attention have two
// position axes. Here a second dimension of the same size is one line, and `rename<length, memory>(x)` to it
// is free where both are split alike.
#include <meshtf/core.hpp>

struct length : meshtf::dim<64> {};
struct memory : meshtf::dim<64> {};

struct rows : meshtf::axis<2> {};
struct line : meshtf::mesh<rows> {};
struct data : meshtf::layout<line> {};

#ifdef FIXED
static_assert(meshtf::is_legal<meshtf::placement_verdict<data, length, memory>>);
#else
static_assert(meshtf::is_legal<meshtf::placement_verdict<data, length, length>>);
#endif
