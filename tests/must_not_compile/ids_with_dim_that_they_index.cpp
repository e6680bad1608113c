// error: ids_have_dim_that_they_index<
// error: meshtf: gather can't take these rows of this table
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct vocab : meshtf::dim<32> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, batch, vocab, hidden> table{m};
#ifdef FIXED
  meshtf::tensor<int, L, batch> ids{m};
#else
  meshtf::tensor<int, L, batch, vocab> ids{m};
#endif
  auto x = gather<vocab>(table, ids);
});
