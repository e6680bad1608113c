// A translation unit whose compilation is timed: one question about a layout, with what the compiler alone
// needs.
#include <meshtf/core.hpp>

struct batch : meshtf::dim<512> {};
struct hidden : meshtf::dim<4096> {};
struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows, cols> {};
struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

static_assert(meshtf::is_legal<meshtf::placement_verdict<mixed, batch, hidden>>);
