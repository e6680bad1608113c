// error: k_is_larger_than_dim<
// error: meshtf: top_k can't take so many elements along this dimension
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<32> {};
struct vocab : meshtf::dim<16> {};
struct twenty : meshtf::dim<20> {};
struct best : meshtf::dim<10> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct by_vocab : meshtf::layout<grid, meshtf::split<vocab, rows>> {};

inline constexpr auto cost = meshtf::dry_run<by_vocab>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, vocab> logits{m};
#ifdef FIXED
  auto x = top_k<vocab, best>(logits);
#else
  auto x = top_k<vocab, twenty>(logits);
#endif
});
