// error: axis_is_not_in_mesh<colls, hidden, grid>
//
// jax-ml/jax#26946, AI-Hypercomputer/maxtext#2369, google/flax#1702: a rule that did not fit (a typing error,
// an axis already taken, a size that does not divide) left the tensor whole on every process, found weeks
// later by its memory. Here each of these is a compile error; what has no rule is whole, and says so.
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct colls : meshtf::axis<2> {};  // the typing error
struct grid : meshtf::mesh<rows, cols> {};

#ifdef FIXED
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};
#else
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, colls>> {};
#endif
static_assert(meshtf::is_legal<meshtf::placement_verdict<mixed, batch, hidden>>);
