// If it compiles, it passes: where a dimension of any size is placed.
#include <meshtf/core/placement.hpp>

namespace {

using namespace meshtf;

struct batch : dim<10> {};
struct few : dim<3> {};
struct even : dim<12> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};

struct padded_over_cols : layout<grid, padded<batch, cols>, padded<few, cols>, padded<even, cols>> {};
struct over_both : layout<grid, padded<batch, rows, cols>, padded<few, lone>> {};
struct equal : layout<grid, split<even, cols>> {};

// all processes have the same allocated extent, and the first elements of it are local, or none
static_assert(placed_under<padded_over_cols, batch>.allocated_extent() == 3 &&
              placed_under<padded_over_cols, batch>.local_extent(3) == 1);
static_assert(placed_under<over_both, batch>.allocated_extent() == 2 &&
              placed_under<over_both, batch>.local_extent(4) == 2 &&
              placed_under<over_both, batch>.local_extent(5) == 0);
static_assert(allocated_extents<padded_over_cols, shape<batch, few, even>> == std::array<extent, 3>{3, 1, 3});
static_assert(shard_size<padded_over_cols, shape<few, batch>> == 3);

// processes differ only where the parts do not divide the size
static_assert(is_uneven<padded_over_cols, shape<batch, even>> && is_uneven<padded_over_cols, shape<few>>);
static_assert(!is_uneven<padded_over_cols, shape<even>> && !is_uneven<over_both, shape<few>> &&
              !is_uneven<over_both, shape<>>);

// where they do, the rule places elements as `split` does
static_assert(placed_under<padded_over_cols, even> == placed_under<equal, even>);
static_assert(padded_over_cols::pads<even> && !equal::pads<even> && !equal::pads<batch>);

// unequal parts are legal if the layout says so, and the other rules hold as ever
static_assert(is_legal<placement_verdict<padded_over_cols, batch>> &&
              is_legal<placement_verdict<over_both, batch, few>>);
static_assert(std::same_as<placement_verdict<padded_over_cols, few, batch>,
                           one_axis_splits_two_dims<cols, few, batch>>);
struct split_too : layout<grid, split<batch, cols>> {};
static_assert(std::same_as<placement_verdict<split_too, batch>, parts_do_not_divide_dim<batch, 10, 4>>);
struct two_rules : layout<grid, split<batch, rows>, padded<batch, cols>> {};
static_assert(std::same_as<two_rules::rules_verdict, two_rules_for_dim<batch>>);
struct stutter : layout<grid, padded<batch, cols, cols>> {};
static_assert(std::same_as<stutter::rules_verdict, axis_splits_dim_twice<cols, batch>>);
static_assert(examine(std::array{placed{.size = 10, .parts = 4, .over = {{1}, 1}, .pads = true}}).reason ==
              placement_fault::none);

// the dry twin places alike
static_assert(placed_under<dry<padded_over_cols>, batch> == placed_under<padded_over_cols, batch> &&
              is_legal<placement_verdict<dry<over_both>, batch, few>>);

}  // namespace
