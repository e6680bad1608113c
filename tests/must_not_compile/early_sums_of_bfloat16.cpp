// error: meshtf: small updates get lost in bfloat16: keep float parameters, and compute with
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct line : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<line, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
#ifdef FIXED
  meshtf::parameter<float, L, in> w{m};
#else
  meshtf::parameter<meshtf::bfloat16, L, in> w{m};
#endif
  meshtf::early_sums const early{parameters(w)};
});
