// error: gradient_has_other_dims<
// error: meshtf: custom_gradient can't use these gradients
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<whole>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, hidden> w{m};
  auto const spread = [](auto const& x) { return broadcast<batch, hidden>(x); };
#ifdef FIXED
  auto z = custom_gradient(spread, [](auto const& dz, auto const&) { return sum<batch>(dz); }, w);
#else
  auto z = custom_gradient(spread, [](auto const& dz, auto const&) { return 2 * dz; }, w);
#endif
});
