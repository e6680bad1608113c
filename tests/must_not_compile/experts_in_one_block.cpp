// error: no_block_has_experts<1
// error: meshtf: experts in every second block need two blocks or more
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

struct dims : meshtf::nn::transformer_dims<length, vocab, width, heads, key, hidden> {
  using feed_forward = meshtf::nn::experts_in_every_second_block<experts, groups, hidden>;
#ifdef FIXED
  static constexpr int layers = 2;
#else
  static constexpr int layers = 1;
#endif
};

using L = meshtf::dry<whole>;

constexpr auto scores(meshtf::machine<L>& m) {
  meshtf::nn::transformer<float, L, dims> const net{m, 1};
  meshtf::tensor<int, L, batch, length> const ids{m};
  return net(ids).value;
}
