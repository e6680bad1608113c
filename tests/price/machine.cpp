// If it compiles, it passes.
#include <meshtf/search/recorder.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct rows : axis<2> {};
struct grid : mesh<rows> {};

// the compiler's machines have what operations ask of one; that of processes is asserted where it is tested
static_assert(Machine<ledger<grid>>);
static_assert(Machine<recorder<batch>>);

struct stone {
  using mesh_type                = grid;
  static constexpr bool computes = false;
};
static_assert(!Machine<stone>);

}  // namespace
