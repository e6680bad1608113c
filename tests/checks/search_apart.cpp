#include <meshtf/price/dry_run.hpp>

namespace {

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<6> {};
struct out : meshtf::dim<4> {};
struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct by_batch : meshtf::layout<grid, meshtf::split<batch, rows>> {};

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, out> w;
  meshtf::tensor<float, L, batch, in> x;
  meshtf::adam opt{1e-3};

  constexpr explicit training(meshtf::machine<L>& m) : w{m, meshtf::he_normal{1}}, x{m} {}
  constexpr auto step() {
    auto const loss = mean(square(cumsum<out>(meshtf::flip<out>(meshtf::einsum<batch, out>(x, w)))));
    meshtf::backward(loss);
    opt.step(parameters(w));
    return loss;
  }
};

static_assert(meshtf::dry_run<training, by_batch>().bytes_sent<rows>() > 0);

}  // namespace
