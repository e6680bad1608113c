// error: exchanged_dim_is_padded<groups>
// error: meshtf: a mixture of experts can't take these groups of tokens
#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

struct batch : meshtf::dim<12> {};
struct length : meshtf::dim<16> {};
struct width : meshtf::dim<6> {};
struct inside : meshtf::dim<10> {};
struct experts : meshtf::dim<8> {};
struct groups : meshtf::dim<6> {};
#ifdef FIXED
struct rows : meshtf::axis<2> {};
#else
struct rows : meshtf::axis<4> {};
#endif
struct grid : meshtf::mesh<rows> {};

#ifdef FIXED
struct spread : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<groups, rows>,
                               meshtf::split<experts, rows>> {};
#else
struct spread : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::padded<groups, rows>,
                               meshtf::split<experts, rows>> {};
#endif

inline constexpr auto cost = meshtf::dry_run<spread>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::nn::streams seeds{1};
  meshtf::nn::mixture_of_experts<float, L, width, inside, experts, groups> const mixture{m, seeds, 1, 1};
  meshtf::tensor<float, L, batch, length, width> x{m};
  auto const z = mixture(x, {.seed = 1});
});
