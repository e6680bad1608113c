// error: gating_sees_later_tokens<
// error: meshtf: a block with causal attention can't have this gating
#include <meshtf/planning.hpp>

#include <meshtf/nn/experts_in_blocks.hpp>

struct batch : meshtf::dim<8> {};
struct length : meshtf::dim<16> {};
struct vocab : meshtf::dim<32> {};
struct width : meshtf::dim<8> {};
struct heads : meshtf::dim<2> {};
struct key : meshtf::dim<4> {};
struct hidden : meshtf::dim<16> {};
struct experts : meshtf::dim<4> {};
struct groups : meshtf::dim<4> {};

struct whole : meshtf::layout<meshtf::mesh<>> {};

struct dims : meshtf::nn::transformer_dims<length, vocab, width, heads, key, hidden> {};

#ifdef FIXED
using gating = meshtf::nn::top_2_gating;
#else
using gating = meshtf::nn::expert_choice_gating;  // whether an expert takes a token depends on later ones
#endif

using L = meshtf::dry<whole>;

using mixture = meshtf::nn::mixture_of_experts<float, L, width, hidden, experts, groups, gating>;

constexpr void make(meshtf::machine<L>& m, meshtf::nn::streams& seeds) {
  meshtf::nn::transformer_block<float, L, dims, mixture> const block{m, seeds, 1, 1};
  meshtf::tensor<float, L, batch, length, width> const x{m};
  auto const z = block(x);
}
