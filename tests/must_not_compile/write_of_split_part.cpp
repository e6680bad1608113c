// error: written_part_is_split<
// error: meshtf: write can't put this part into this dimension
#include <meshtf/ops/shape/write.hpp>
#include <meshtf/planning.hpp>

struct longest : meshtf::dim<32> {};
struct length : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data : meshtf::layout<grid, meshtf::split<length, rows>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, length, hidden> part{m};
#ifdef FIXED
  meshtf::tensor<float, meshtf::dry<whole>, longest, hidden> cache{m};
  auto x = write<longest>(cache, reshard<meshtf::dry<whole>>(part), 3);
#else
  meshtf::tensor<float, L, longest, hidden> cache{m};
  auto x = write<longest>(cache, part, 3);
#endif
});
