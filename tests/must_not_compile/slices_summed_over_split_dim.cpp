// error: result_lacks_split_dim<
// error: meshtf: slicewise can't call this function on these shards
#include <meshtf/ops/function/slicewise.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_batch>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> x{m};
  auto const f = [](auto&& z, auto const& part) { z = part; };
#ifdef FIXED
  auto y = sum<batch>(slicewise<meshtf::shape<batch, hidden>, meshtf::splittable<batch>>(f, x));
#else
  auto y = slicewise<meshtf::shape<hidden>, meshtf::splittable<batch>>(f, x);
#endif
});
