// Placed dimensions: a layout as the values that rules work on.
#include <meshtf/core/placed.hpp>

using namespace meshtf;

struct batch  : dim<16> {};
struct hidden : dim<12> {};
struct model  : dim<5>  {};

struct lone : axis<1> {};
struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<lone, rows, cols> {};

struct mixed  : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct nested : layout<grid, split<batch, cols, rows>> {};
struct idle   : layout<grid, split<batch, lone>, split<hidden, lone, cols>> {};

using x = shape<batch, hidden, model>;

// A dimension has a size, a number of parts, and its axes by their numbers in the mesh, outermost first.
static_assert(placed_under<mixed, batch> == placed{.size = 16, .parts = 2, .over = {{1}, 1}});
static_assert(placed_under<nested, batch> == placed{.size = 16, .parts = 8, .over = {{2, 1}, 2}});
static_assert(placed_under<mixed, model> == placed{.size = 5});
static_assert(placed_under<mixed, batch>.local_size() == 8 && placed_under<nested, batch>.local_size() == 2 && placed_under<mixed, model>.local_size() == 5);

// Two orders of axes are two placements, of the same set.
static_assert(!(axis_list{{2, 1}, 2} == axis_list{{1, 2}, 2}) && axis_list{{2, 1}, 2}.set() == axis_list{{1, 2}, 2}.set());
static_assert(axis_list{}.set() == 0 && axis_list{{0, 2}, 2}.set() == 0b101);

// A shape is a row of them, and one process holds the product of their parts.
static_assert(placed_dims<mixed, x>.size() == 3 && placed_dims<mixed, x>[1] == placed_under<mixed, hidden>);
static_assert(local_extents<mixed, x> == std::array<extent, 3>{8, 3, 5} && shard_size<mixed, x> == 8 * 3 * 5);
static_assert(shard_size<mixed, shape<>> == 1 && local_extents<mixed, shape<>>.empty());

// A dry layout places as its twin does.
static_assert(&placed_under<dry<mixed>, batch> == &placed_under<mixed, batch> && shard_size<dry<mixed>, x> == shard_size<mixed, x>);

// Sets of axes are bits in the order of the mesh.
static_assert(axis_set_of<grid, axes<rows>> == 0b010 && axis_set_of<grid, axes<cols, lone>> == 0b101 && axis_set_of<grid, axes<>> == 0);
static_assert(split_over<mixed, x> == 0b110 && split_over<mixed, shape<batch, model>> == 0b010 && split_over<mixed, shape<model>> == 0);

// An axis of one process joins nobody: it may be in a rule, but it is in no plan.
static_assert(joining_axes<grid> == 0b110);
static_assert(placed_under<idle, batch>.parts == 1 && placed_under<idle, batch>.over == axis_list{{0}, 1});
static_assert(split_over<idle, x> == 0b100 && split_over<idle, shape<batch>> == 0 && shard_size<idle, x> == 16 * 3 * 5);

// Axes of a set multiply.
static_assert(axis_sizes<grid>[0] == 1 && axis_sizes<grid>[1] == 2 && axis_sizes<grid>[2] == 4 && axis_sizes<grid>[3] == 1);
static_assert(processes_along(axis_sizes<grid>, 0b110) == 8 && processes_along(axis_sizes<grid>, 0b100) == 4 && processes_along(axis_sizes<grid>, 0) == 1);

// A tensor's dimensions by their place in a nest of loops.
constexpr auto inside = dims_within<x, shape<model, batch>>;
static_assert(inside.count == 2 && inside[0] == 2 && inside[1] == 0);
static_assert(inside.has(0) && inside.has(2) && !inside.has(1));
