// error: needs_all_gradients<meshtf::
// error: meshtf: this optimizer needs all gradients: call backward(loss), then opt.step(list)
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct line : meshtf::mesh<rows> {};
struct data : meshtf::layout<line, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, in, hidden> w{m};
  meshtf::tensor<float, L, batch, in> const x{m};
  auto const loss = mean(square(meshtf::einsum<batch, hidden>(x, w)));
  meshtf::lamb opt;
#ifdef FIXED
  backward(loss);
  opt.step(parameters(w));
#else
  backward(loss, opt, parameters(w));
#endif
});
