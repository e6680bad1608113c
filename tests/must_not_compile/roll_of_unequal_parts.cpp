// error: rolled_parts_differ<
// error: reshard_for<
// error: meshtf: roll can't work along this dimension
#include <meshtf/ops/shape/shift.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct length : meshtf::dim<10> {};

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct by_length : meshtf::layout<grid, meshtf::padded<length, rows>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_length>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, length> x{m};
#ifdef FIXED
  auto before = roll<length>(meshtf::reshard<by_batch>(x), 1);
#else
  auto before = roll<length>(x, 1);
#endif
});
