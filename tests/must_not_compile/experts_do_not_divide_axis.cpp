// error: parts_do_not_divide_dim<experts, 6, 4>
// error: meshtf: a mixture of experts can't have these experts
#include <meshtf/planning.hpp>

#include <meshtf/nn/mixture_of_experts.hpp>

struct batch : meshtf::dim<12> {};
struct length : meshtf::dim<16> {};
struct width : meshtf::dim<6> {};
struct inside : meshtf::dim<10> {};
struct groups : meshtf::dim<4> {};
#ifdef FIXED
struct experts : meshtf::dim<8> {};
#else
struct experts : meshtf::dim<6> {};
#endif

struct rows : meshtf::axis<4> {};
struct grid : meshtf::mesh<rows> {};

struct spread : meshtf::layout<grid, meshtf::split<batch, rows>, meshtf::split<groups, rows>,
                               meshtf::split<experts, rows>> {};

using L = meshtf::dry<spread>;

constexpr void make(meshtf::machine<L>& m, meshtf::nn::streams& seeds) {
  meshtf::nn::mixture_of_experts<float, L, width, inside, experts, groups> const mixture{m, seeds, 1, 1};
  meshtf::tensor<float, L, batch, length, width> x{m};
  auto const z = mixture(x, {.seed = 1});
}
