// Dimensions: a name and a size.
#include <meshtf/core/dim.hpp>
#include <meshtf/core/mesh.hpp>

using namespace meshtf;

struct batch  : dim<8> {};
struct memory : dim<8> {};
struct rows   : axis<8> {};
struct number {
  static constexpr extent size = 8;
};

// Two dimensions of one size are two dimensions.
static_assert(batch::size == 8 && memory::size == 8 && !std::same_as<batch, memory>);

// A dimension derives from `dim`; a size alone makes none, and an axis is no dimension.
static_assert(Dimension<batch> && Dimension<memory>);
static_assert(!Dimension<number> && !Dimension<rows> && !Dimension<int>);

// Sizes are counted in 64 bits.
struct tokens : dim<extent{1} << 40> {};
static_assert(Dimension<tokens> && tokens::size == 1'099'511'627'776);
