// error: meshtf: fused's function takes one auto for each operand: [](auto x, auto y)
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data_parallel>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
#ifdef FIXED
  auto y = fused([](auto v) { return 2 * v; }, x);
#else
  auto y = fused([](float v) { return 2 * v; }, x);
#endif
});
