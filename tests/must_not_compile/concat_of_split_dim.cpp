// error: concatenated_dim_is_split<
// error: meshtf: concat can't join these operands along this dimension
#include <meshtf/ops/shape/concat.hpp>
#include <meshtf/planning.hpp>

struct start : meshtf::dim<2> {};
struct ending : meshtf::dim<6> {};
struct length : meshtf::dim<8> {};
struct model : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_length : meshtf::layout<grid, meshtf::split<ending, rows>> {};
struct by_model : meshtf::layout<grid, meshtf::split<model, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_length>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, start, model> prefix{m};
  meshtf::tensor<float, L, ending, model> rest{m};
#ifdef FIXED
  auto x = concat<length>(meshtf::reshard<by_model>(prefix), meshtf::reshard<by_model>(rest));
#else
  auto x = concat<length>(prefix, rest);
#endif
});
