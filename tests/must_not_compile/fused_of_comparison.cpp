// error: meshtf: fused's function returns one number that it makes of its operands
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data_parallel>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
#ifdef FIXED
  auto y = fused([](auto v) { return where(v > 0, 1, 0); }, x);
#else
  auto y = fused([](auto v) { return v > 0; }, x);
#endif
});
