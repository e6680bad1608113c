// error: depth_is_left_open<
// error: meshtf: the dimensions leave the number of layers open
#include <meshtf/planning.hpp>

struct length : meshtf::dim<8> {};
struct vocab : meshtf::dim<32> {};
struct model : meshtf::dim<16> {};
struct heads : meshtf::dim<2> {};
struct key : meshtf::dim<8> {};
struct hidden : meshtf::dim<32> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};
struct whole : meshtf::layout<grid> {};

struct dims : meshtf::nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = meshtf::nn::any_depth;
};

using planned = meshtf::dry<whole>;

constexpr void make(meshtf::machine<planned>& m) {
#ifdef FIXED
  meshtf::nn::transformer<float, planned, dims> net{m, meshtf::nn::depth{3}, 1};
#else
  meshtf::nn::transformer<float, planned, dims> net{m, 1};
#endif
}
