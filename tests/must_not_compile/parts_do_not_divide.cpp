// error: parts_do_not_divide_dim<vocab, 30, 4>
#include <meshtf/core.hpp>

struct vocab : meshtf::dim<30> {};
struct wide : meshtf::dim<32> {};

struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<cols> {};

#ifdef FIXED
using choice = wide;
#else
using choice = vocab;
#endif

struct model_parallel : meshtf::layout<grid, meshtf::split<choice, cols>> {};
static_assert(meshtf::is_legal<meshtf::placement_verdict<model_parallel, choice>>, "meshtf: this layout cannot place a tensor of these dimensions");
