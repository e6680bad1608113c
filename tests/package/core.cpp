// What a program needs that only asks the compiler: meshtf::core.
#include <meshtf/core.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

static_assert(meshtf::is_legal<meshtf::placement_verdict<data_parallel, batch>>);

int main() {}
