// error: runtime_is_included<grid>
// error: meshtf: planning.hpp has no processes: include <meshtf/meshtf.hpp>, or make the tensor under dry<L>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

#ifdef FIXED
using L = meshtf::dry<data>;
#else
using L = data;
#endif

constexpr void step(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, batch> w{m};
  backward(mean(square(w)));
}
