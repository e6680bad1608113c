// error: tokens_of_group_are_split<length>
// error: meshtf: a mixture of experts can't take these groups of tokens
#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

struct batch : meshtf::dim<12> {};
struct length : meshtf::dim<16> {};
struct width : meshtf::dim<6> {};
struct inside : meshtf::dim<10> {};
struct experts : meshtf::dim<8> {};
struct groups : meshtf::dim<4> {};

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct spread : meshtf::layout<grid, meshtf::split<length, rows>> {};
struct whole : meshtf::layout<grid> {};

inline constexpr auto cost = meshtf::dry_run<spread>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, length, width> x{m};
  auto const gathered = meshtf::reshard<whole>(x);
#ifdef FIXED
  auto const& tokens = gathered;
#else
  auto const& tokens = x;
#endif
  meshtf::nn::streams seeds{1};
  using used = typename std::remove_cvref_t<decltype(tokens)>::layout_type;
  meshtf::nn::mixture_of_experts<float, used, width, inside, experts, groups> const mixture{tokens.machine(),
                                                                                            seeds, 1, 1};
  auto const z = mixture(tokens, {.seed = 1});
});
