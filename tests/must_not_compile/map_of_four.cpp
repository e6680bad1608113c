// error: too_many_operands<4, 3>
// error: meshtf: map can't join these operands
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct data_parallel : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data_parallel>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> a{m};
  meshtf::tensor<float, L, batch> b{m};
  meshtf::tensor<float, L, batch> c{m};
  meshtf::tensor<float, L, batch> d{m};
#ifdef FIXED
  auto three = [](auto x, auto y, auto z) { return x * y + z; };
  auto slope = [](auto x, auto y, auto) { return std::array{y, x, decltype(x)(1)}; };
  auto y     = map(three, slope, a, b, c) * d;
#else
  auto four  = [](auto x, auto y, auto z, auto w) { return (x * y + z) * w; };
  auto slope = [](auto x, auto y, auto z, auto w) { return std::array{y * w, x * w, w, x * y + z}; };
  auto y     = map(four, slope, a, b, c, d);
#endif
});
