// If it compiles, it passes.
#include <algorithm>

#include <meshtf/core/placed.hpp>

namespace {

using namespace meshtf;

struct batch : dim<24> {};
struct hidden : dim<16> {};
struct out : dim<5> {};
struct unit : dim<16> {};

struct pods : axis<2> {};
struct rows : axis<3> {};
struct cols : axis<4> {};
struct lone : axis<1> {};
struct grid : mesh<pods, rows, cols, lone> {};

struct mixed : layout<grid, split<batch, rows, pods>, split<hidden, cols>, split<unit, lone>> {};

constexpr axis_list listed(std::initializer_list<int> numbers) {
  axis_list list;
  for (int n : numbers) list.push_back(n);
  return list;
}
constexpr bool are(dim_list const& list, std::initializer_list<int> numbers) {
  return std::equal(list.begin(), list.end(), numbers.begin(), numbers.end());
}

// a dimension under a layout: its size, its parts, and its axes by number, outermost first
static_assert(placed_under<mixed, batch> == placed{.size = 24, .parts = 6, .over = listed({1, 0})});
static_assert(placed_under<mixed, batch>.allocated_extent() == 4 &&
              placed_under<mixed, batch>.local_extent(0) == 4 &&
              placed_under<mixed, batch>.local_extent(5) == 4);
static_assert(placed_under<mixed, hidden> == placed{.size = 16, .parts = 4, .over = listed({2})});
static_assert(placed_under<mixed, out> == placed{.size = 5});

// the order of axes matters to a list and not to a set
static_assert(!(listed({1, 0}) == listed({0, 1})) && listed({1, 0}).set() == listed({0, 1}).set());
static_assert(!(listed({1}) == listed({1, 0})) && listed({}).set() == 0 && listed({0, 2}).set() == 0b101);

// blocks of the ceiling: all have the same allocated extent, the last ones a smaller local extent, or none
constexpr placed ten{.size = 10, .parts = 4};
constexpr placed three{.size = 3, .parts = 4};
static_assert(ten.allocated_extent() == 3 && ten.local_extent(0) == 3 && ten.local_extent(2) == 3 &&
              ten.local_extent(3) == 1);
static_assert(three.allocated_extent() == 1 && three.local_extent(2) == 1 && three.local_extent(3) == 0);

// who holds a part: ranks follow the mesh's order of axes, parts that of the list
constexpr auto rank_holding = [](std::initializer_list<int> over, extent part) {
  return rank_of_part(listed(over), part, axis_sizes<grid>);
};
static_assert(rank_holding({1, 2}, 5) == 5 && rank_holding({2}, 3) == 3 && rank_holding({}, 0) == 0);
static_assert(rank_holding({1, 0}, 0) == 0 && rank_holding({1, 0}, 1) == 3 && rank_holding({1, 0}, 2) == 1 &&
              rank_holding({1, 0}, 5) == 5);

// a shape under a layout: what one process holds of it
static_assert(placed_dims<mixed, shape<out, batch>> ==
              std::array{placed_under<mixed, out>, placed_under<mixed, batch>});
static_assert(allocated_extents<mixed, shape<batch, hidden, out>> == std::array<extent, 3>{4, 4, 5});
static_assert(shard_size<mixed, shape<batch, hidden, out>> == 4 * 4 * 5);
static_assert(shard_size<mixed, shape<>> == 1 && allocated_extents<mixed, shape<>>.empty());

// a layout and its dry form place alike
static_assert(placed_under<dry<mixed>, batch> == placed_under<mixed, batch>);
static_assert(shard_size<dry<mixed>, shape<batch>> == 4 &&
              allocated_extents<dry<mixed>, shape<batch>> == allocated_extents<mixed, shape<batch>>);

// sets of axes are bits in the order of the mesh
static_assert(axis_set_of<grid, axes<pods>> == 0b0001 && axis_set_of<grid, axes<cols, pods>> == 0b0101 &&
              axis_set_of<grid, axes<>> == 0);

// an axis of one process is in no plan
static_assert(joining_axes<grid> == 0b0111);
static_assert(split_over<mixed, shape<batch, out>> == 0b0011 &&
              split_over<mixed, shape<batch, hidden>> == 0b0111);
static_assert(split_over<mixed, shape<unit>> == 0 && split_over<mixed, shape<>> == 0);
static_assert(placed_under<mixed, unit>.over == listed({3}));

// how many processes a set of axes joins
static_assert(axis_sizes<grid>[0] == 2 && axis_sizes<grid>[2] == 4 && axis_sizes<grid>[3] == 1 &&
              axis_sizes<grid>[max_axes - 1] == 1);
static_assert(processes_along(axis_sizes<grid>, 0b0110) == 12 &&
              processes_along(axis_sizes<grid>, 0b1111) == 24 && processes_along(axis_sizes<grid>, 0) == 1);

// dimensions by their place in a loop nest, in the order of the tensor
using nest = shape<batch, hidden, out>;
static_assert(are(dims_within<nest, shape<out, batch>>, {2, 0}) && are(dims_within<nest, shape<>>, {}));
static_assert(dims_within<nest, shape<out, batch>>.has(2) && !dims_within<nest, shape<out, batch>>.has(1));
// one that the nest lacks stands past its end
static_assert(are(dims_within<nest, shape<unit>>, {3}));

}  // namespace
