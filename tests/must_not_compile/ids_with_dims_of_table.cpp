// error: ids_have_dims_of_table<
// error: meshtf: gather can't take these rows of this table
#include <meshtf/planning.hpp>

struct batch : meshtf::dim<8> {};
struct vocab : meshtf::dim<32> {};
struct hidden : meshtf::dim<16> {};

struct rows : meshtf::axis<2> {};
struct grid : meshtf::mesh<rows> {};

struct data : meshtf::layout<grid, meshtf::split<batch, rows>> {};

inline constexpr auto cost = meshtf::dry_run<data>([]<meshtf::Layout L>(meshtf::machine<L>& m) {
  meshtf::tensor<float, L, vocab, hidden> table{m};
#ifdef FIXED
  meshtf::tensor<int, L, batch> ids{m};
#else
  meshtf::tensor<int, L, batch, hidden> ids{m};
#endif
  auto x = gather<vocab>(table, ids);
});
