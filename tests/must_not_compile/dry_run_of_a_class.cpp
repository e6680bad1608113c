// error: program_is_no_template<training>
// error: meshtf: dry_run takes template<meshtf::Layout L> struct training { ... };
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

#ifdef FIXED
template<meshtf::Layout L>
struct training {
#else
using L = data;
struct training {
#endif
  constexpr explicit training(meshtf::machine<L>&) {}
  constexpr void step() {}
};

inline constexpr auto cost = meshtf::dry_run<training, data>();
