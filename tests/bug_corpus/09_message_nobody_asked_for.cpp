// error: cost.bytes_sent<rows>() == 0
//
// pytorch/pytorch#167106, #166593, chapel-lang/chapel#11812: operations sent what nobody had asked for, and
// it was found in a profile. Here the communication of a step is a constant that the build can refuse: this
// batch is summed, and that is an all-reduce along rows.
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, in> x{m};
#ifdef FIXED
  auto y = sum<in>(x);
#else
  auto y = sum<batch>(x);
#endif
});
static_assert(cost.bytes_sent<rows>() == 0);
