// error: meshtf: shift's third argument is the value that comes in: roll<...>(x, offset) goes round
#include <meshtf/ops/shape/shift.hpp>
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct length : meshtf::dim<32> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_length : meshtf::layout<grid, meshtf::split<length, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_length>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, length> x{m};
#ifdef FIXED
  auto before = roll<length>(x, 1);
#else
  auto before = shift<length>(x, 1, true);  // Mesh TensorFlow: mtf.shift(x, 1, length, wrap=True)
#endif
});
