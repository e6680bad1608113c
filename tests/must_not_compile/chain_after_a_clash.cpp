// error: one_axis_splits_two_dims<rows, batch, hidden>
// error: meshtf: this layout can't contract these operands
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<32> {};
struct in : meshtf::dim<8> {};
struct hidden : meshtf::dim<16> {};
struct out : meshtf::dim<4> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

#ifdef FIXED
struct tried : meshtf::layout<grid, meshtf::split<batch, rows>> {};
#else
struct tried : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, rows>> {};
#endif

template<meshtf::Layout L>
struct training {
  meshtf::parameter<float, L, in, hidden> w1;
  meshtf::nn::linear<float, L, hidden, out> last;
  meshtf::adam opt{1e-3};
  meshtf::tensor<float, L, batch, in> x;
  meshtf::tensor<int, L, batch> labels;

  constexpr explicit training(meshtf::machine<L>& m)
      : w1{m, meshtf::he_normal{1}}, last{m, meshtf::he_normal{2}}, x{m}, labels{m} {}
  constexpr auto step() {
    auto const h    = relu(einsum<batch, hidden>(x, w1));  // nothing else is said of all that follows
    auto const loss = mean(softmax_cross_entropy<out>(last(h) / 2, labels, {.label_smoothing = 0.1}));
    backward(loss);
    opt.step(parameters(w1, last));
    return loss;
  }
};

template struct training<meshtf::dry<tried>>;  // what a dry run instantiates
