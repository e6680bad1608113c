// error: sliced_dim_is_split<
// error: meshtf: slice can't take this part of this dimension
#include <meshtf/ops/shape/slice.hpp>
#include <meshtf/planning.hpp>

struct longest : meshtf::dim<32> {};
struct length : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_place : meshtf::layout<grid, meshtf::split<longest, rows>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<by_place>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, longest, hidden> positions{m};
#ifdef FIXED
  auto x = slice<longest, length>(meshtf::reshard<whole>(positions), 0);
#else
  auto x = slice<longest, length>(positions, 0);
#endif
});
