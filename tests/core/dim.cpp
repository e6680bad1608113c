// If it compiles, it passes.
#include <meshtf/core/dim.hpp>

namespace {

using namespace meshtf;

struct batch : dim<512> {};
struct memory : dim<512> {};
struct narrow : batch {};

struct impostor {
  static constexpr extent size = 512;
};
struct nameless_size {};

// a dimension is a name and a size
static_assert(Dimension<batch> && batch::size == 512);

// two dimensions of one size are two dimensions
static_assert(!std::same_as<batch, memory>);

// sizes are as wide as any array can be
struct vast : dim<(extent{1} << 40)> {};
static_assert(Dimension<vast> && vast::size == 1'099'511'627'776);

// whoever has a size is no dimension yet: it says so by inheriting
static_assert(!Dimension<impostor> && !Dimension<nameless_size> && !Dimension<int>);

// what inherits from a dimension is one, and not the same one
static_assert(Dimension<narrow> && narrow::size == 512 && !std::same_as<narrow, batch>);

}  // namespace
