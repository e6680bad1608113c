// error: depth_is_in_dims<
// error: meshtf: the dimensions of this model say how many layers it has
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
  static constexpr int layers = 2;
};

inline constexpr auto cost = meshtf::dry_run<whole>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
#ifdef FIXED
  meshtf::nn::transformer<float, L, dims> net{m, 1};
#else
  meshtf::nn::transformer<float, L, dims> net{m, meshtf::nn::depth{3}, 1};
#endif
});
