// error: needs_all_gradients<meshtf::
// error: meshtf: this optimizer needs all gradients: call accumulate<N>(...), then opt.step(list)
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct half : meshtf::dim<4> {};
struct in : meshtf::dim<4> {};

struct none : meshtf::mesh<> {};
struct alone : meshtf::layout<none> {};

inline constexpr auto cost = meshtf::dry_run<alone>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::parameter<float, L, in> w{m};
  meshtf::tensor<float, L, batch, in> const x{m};
  auto const of_half = [&](meshtf::extent i) {
    return mean(square(meshtf::micro_batch<batch, half>(x, i) * w)) / 2;
  };
#ifdef FIXED
  meshtf::adam opt;
#else
  meshtf::adafactor opt;
#endif
  meshtf::accumulate<2>(m, of_half, opt, parameters(w));
});
