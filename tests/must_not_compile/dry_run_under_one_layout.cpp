// error: meshtf: dry_run takes []<meshtf::Layout L>(meshtf::machine<L>& m) { ... }
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

#ifdef FIXED
inline constexpr auto program = []<meshtf::Layout L>(meshtf::machine<L>& m) {
  m.begin_operation("nothing yet");
};
#else
inline constexpr auto program = [](meshtf::machine<data>&) {};
#endif
inline constexpr auto cost = meshtf::dry_run<data>(program);
