// error: has_no_parameters<affine
// error: meshtf: a model needs constexpr auto parameters() { return meshtf::parameters(w); }
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct out : meshtf::dim<2> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

#ifdef FIXED
template<meshtf::Layout L>
struct affine {
  meshtf::parameter<float, L, in, out> w;
  constexpr explicit affine(meshtf::machine<L>& m) : w{m} {}
  constexpr auto parameters() { return meshtf::parameters(w); }
};
#else
template<meshtf::Layout L>
struct affine {
  meshtf::parameter<float, L, in, out> w;
  constexpr explicit affine(meshtf::machine<L>& m) : w{m} {}
};
#endif

constexpr void clear(affine<meshtf::dry<data>>& net) { meshtf::zero_gradients(meshtf::parameters(net)); }

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  affine<L> net{m};
  clear(net);
});
