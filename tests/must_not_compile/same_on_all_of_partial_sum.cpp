// error: still_a_sum_over<
// error: meshtf: same_on_all needs a finished number: finish(p)
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch> x{m};
  auto const error = meshtf::partial_einsum<>(x, x);
#ifdef FIXED
  if (same_on_all(finish(error), 1) > 0.5f) x = x * 2;
#else
  if (same_on_all(error, 1) > 0.5f) x = x * 2;
#endif
});
