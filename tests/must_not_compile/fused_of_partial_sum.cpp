// error: still_a_sum_over<meshtf::
// error: meshtf: fused needs a finished value: write fused(f, finish(x))
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
  meshtf::tensor<float, L, hidden, in> w{m};
  auto p = meshtf::partial_einsum<batch, in>(x, w);
#ifdef FIXED
  auto y = fused([](auto v) { return 2 * v; }, finish(p));
#else
  auto y = fused([](auto v) { return 2 * v; }, p);
#endif
});
