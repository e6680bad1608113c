// error: mask_is_not_of_tokens<
// error: meshtf: a mixture of experts can't take this mask
#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

struct batch : meshtf::dim<12> {};
struct length : meshtf::dim<16> {};
struct width : meshtf::dim<6> {};
struct inside : meshtf::dim<10> {};
struct experts : meshtf::dim<8> {};
struct groups : meshtf::dim<4> {};
struct grid : meshtf::mesh<> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<whole>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::nn::streams seeds{1};
  meshtf::nn::mixture_of_experts<float, L, width, inside, experts, groups> const mixture{m, seeds, 1, 1};
  meshtf::tensor<float, L, batch, length, width> x{m};
#ifdef FIXED
  meshtf::tensor<int, L, batch, length> segments{m};
#else
  meshtf::tensor<int, L, length> segments{m};
#endif
  auto const z = mixture(x, {.seed = 1}, segments);
});
