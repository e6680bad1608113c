// error: meshtf: an optimizer's step takes a list of parameters: step(parameters(model))
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct out : meshtf::dim<2> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

template<meshtf::Layout L>
struct affine {
  meshtf::parameter<float, L, in, out> w;
  constexpr explicit affine(meshtf::machine<L>& m) : w{m} {}
  constexpr auto parameters() { return meshtf::parameters(w); }
};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  affine<L> net{m};
#ifdef FIXED
  meshtf::sgd{}.step(parameters(net));
#else
  meshtf::sgd{}.step(net);
#endif
});
