// error: sort_along_split_dim<
// error: meshtf: argsort can't work along this dimension
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<32> {};
struct units : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, units> h{m};
  auto const active = greater(l2_norm<units>(h), 0.5f);
#ifdef FIXED
  auto const next = where(active, tanh(h), h);  // all rows are computed, those that have stopped stay
#else
  auto const first = argsort<batch>(active, {.descending = true});
  auto const next  = tanh(gather<batch>(h, first));  // the active rows first
#endif
});
