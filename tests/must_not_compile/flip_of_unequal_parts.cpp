// error: displaced_dim_is_split<
// error: reshard_for<
// error: meshtf: flip can't work along this dimension
#include <meshtf/ops/shape/flip.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct length : meshtf::dim<31> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_length : meshtf::layout<grid, meshtf::padded<length, rows>> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_length>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, length> x{m};
#ifdef FIXED
  auto backwards = flip<length>(meshtf::reshard<by_batch>(x));
#else
  auto backwards = flip<length>(x);
#endif
});
