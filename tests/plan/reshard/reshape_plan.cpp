// If it compiles, it passes.
#include <meshtf/plan/reshard/reshape_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<4> {};
struct model : dim<24> {};
struct heads : dim<4> {};
struct key : dim<6> {};
struct six : dim<6> {};
struct four : dim<4> {};
struct none : dim<1> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct three : axis<3> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, three, lone> {};

struct whole : layout<grid> {};
struct by_heads : layout<grid, split<model, cols>, split<heads, cols>> {};
struct by_key : layout<grid, split<model, cols>, split<key, cols>> {};
struct deep : layout<grid, split<model, rows, cols, three>, split<heads, rows, cols>, split<key, three>> {};
struct across : layout<grid, split<model, three>> {};
struct too_early : layout<grid, split<model, rows, three>> {};
struct by_rows : layout<grid, split<model, rows>> {};
struct trivial : layout<grid, split<model, lone, cols>, split<heads, cols>> {};
struct clash : layout<grid, split<batch, cols>, split<heads, cols>> {};

template<class L, class S = shape<batch, heads, key>>
using plan = reshape_plan<L, S, model, shape<heads, key>>;

// the parts multiply to the whole
static_assert(is_legal<plan<whole>::verdict>);
static_assert(std::same_as<reshape_plan<whole, shape<batch, heads>, model, shape<batch, heads>>::verdict,
                           parts_do_not_multiply_to_dim<model, shape<batch, heads>>>);
static_assert(is_legal<reshape_plan<whole, shape<six, none, four>, model, shape<six, none, four>>::verdict>);

// cut alike, the elements stay where they are: whole runs of keys are cut where the heads are cut
static_assert(is_legal<plan<by_heads>::verdict> && plan<by_heads>::as_whole == plan<by_heads>::as_parts);
static_assert(plan<by_heads>::as_whole[1].parts == 2 && plan<by_heads>::as_whole[2].parts == 1);

// other dimensions are as the layout says
static_assert(plan<clash>::as_parts[0].parts == 2 &&
              is_legal<reshape_plan<clash, shape<heads, key>, model, shape<heads, key>>::verdict>);

// the layout may split the parts otherwise than the whole: then elements move
static_assert(is_legal<plan<by_key>::verdict> && plan<by_key>::as_whole[1].parts == 2 &&
              plan<by_key>::as_parts[1].parts == 1 && plan<by_key>::as_parts[2].parts == 2);

// axes go to the outermost part as long as they divide it, and to the next when it is split to single
// elements
static_assert(is_legal<plan<deep>::verdict> && plan<deep>::as_whole == plan<deep>::as_parts);
static_assert(plan<deep>::as_whole[1].parts == 4 && plan<deep>::as_whole[2].parts == 3 &&
              plan<deep>::as_whole[2].over[0] == 2);

// four heads can't be cut in three, and three is too early for the keys as long as a head is not alone:
// without it the rest would fit
static_assert(std::same_as<plan<across>::verdict,
                           split_runs_across_parts<model, shape<heads, key>, split_only<model, axes<>>>>);
static_assert(std::same_as<plan<too_early>::verdict,
                           split_runs_across_parts<model, shape<heads, key>, split_only<model, axes<rows>>>>);
static_assert(is_legal<plan<by_rows>::verdict>);
static_assert(is_legal<reshape_plan<across, shape<six, four>, model, shape<six, four>>::verdict>);

// an axis of one process cuts nothing
static_assert(is_legal<plan<trivial>::verdict> && plan<trivial>::as_whole[1].parts == 2);

// the parts must have a place of their own
static_assert(std::same_as<plan<clash>::verdict, one_axis_splits_two_dims<cols, batch, heads>>);

}  // namespace
