// error: meshtf: fused's function keeps numbers by value: [rate], not [&rate]
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data_parallel>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
  double rate = 0.5;
#ifdef FIXED
  auto y = fused([rate](auto v) { return rate * v; }, x);
#else
  auto y = fused([&rate](auto v) { return rate * v; }, x);
#endif
});
