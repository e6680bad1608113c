// error: targets_have_other_dims<
// error: meshtf: softmax_cross_entropy can't use these targets
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct in : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct cols : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows, cols> {};

struct mixed : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<hidden, cols>> {};

inline constexpr auto cost = meshtf::dry_run<mixed>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, hidden> logits{m};
#ifdef FIXED
  meshtf::tensor<int, L, batch> targets{m};
  auto loss = softmax_cross_entropy<hidden>(logits, targets);
#else
  meshtf::tensor<int, L, batch, hidden> targets{m};
  auto loss = softmax_cross_entropy<hidden>(logits, targets);
#endif
});
