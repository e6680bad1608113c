// error: parts_do_not_divide_dim<vocab, 30, 4>, cols>
// error: meshtf: this layout cannot place a tensor of these dimensions
#include <meshtf/planning.hpp>

struct vocab : meshtf::dim<30> {};

struct cols : meshtf::axis<4> {};
struct grid : meshtf::mesh<cols> {};

#ifdef FIXED
struct model_parallel : meshtf::layout<grid, meshtf::padded<vocab, cols>> {};
#else
struct model_parallel : meshtf::layout<grid, meshtf::split<vocab, cols>> {};
#endif

using L = meshtf::dry<model_parallel>;

constexpr void look(meshtf::machine<L>& m) { auto x = meshtf::tensor<float, L, vocab>{m}; }
