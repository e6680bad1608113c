// error: meshtf: pad's third argument is the value of further elements, 3. for 3; the sizes say how many
#include <meshtf/ops/shape/pad.hpp>
#include <meshtf/planning.hpp>

struct words : meshtf::dim<13> {};
struct rounded : meshtf::dim<16> {};
struct model : meshtf::dim<8> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_model : meshtf::layout<grid, meshtf::split<model, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_model>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, words, model> table{m};
#ifdef FIXED
  auto longer = pad<words, rounded>(table, 0);
#else
  auto longer = pad<words, rounded>(table, 0, 3);  // Mesh TensorFlow: mtf.pad(table, [0, 3], words)
#endif
});
