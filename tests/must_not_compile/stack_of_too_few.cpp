// error: stack_has_other_size<layers, 3>
// error: meshtf: stack can't put these operands together
#include <meshtf/ops/shape/stack.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct layers : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
  meshtf::tensor<float, L, batch> y{m};
#ifdef FIXED
  auto all = stack<layers>(x, y, x, y);
#else
  auto all = stack<layers>(x, y, x);
#endif
});
