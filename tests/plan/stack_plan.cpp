// If it compiles, it passes.
#include <meshtf/ops/shape/stack.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct model : dim<16> {};
struct three : dim<3> {};
struct some : up_to<3> {};

struct rows : axis<3> {};
struct solo : axis<1> {};
struct grid : mesh<rows, solo> {};
struct by_model : layout<grid, padded<model, rows>, split<three, solo>> {};
struct by_three : layout<grid, split<three, rows>> {};
struct by_both : layout<grid, split<three, rows>, padded<batch, rows>> {};
struct clash : layout<grid, padded<batch, rows>, padded<model, rows>> {};

using x = shape<batch, model>;

static_assert(std::same_as<stack_plan<by_model, x, three, 0, 3>::result, shape<three, batch, model>>);
static_assert(std::same_as<stack_plan<by_model, x, three, 1, 3>::result, shape<batch, three, model>>);
static_assert(std::same_as<stack_plan<by_model, x, three, 2, 3>::result, shape<batch, model, three>>);
static_assert(std::same_as<stack_plan<by_model, shape<>, three, 0, 3>::result, shape<three>>);

static_assert(is_legal<stack_verdict<by_model, x, three, 1, 3>>);  // an axis of size 1 splits nothing
static_assert(is_legal<stack_verdict<by_three, x, three, 0, 3>>);  // each process keeps its part
static_assert(
    std::same_as<stack_verdict<by_both, x, three, 0, 3>, one_axis_splits_two_dims<rows, three, batch>>);
static_assert(std::same_as<stack_verdict<by_model, x, three, 0, 2>, stack_has_other_size<three, 2>>);
static_assert(std::same_as<stack_verdict<by_model, x, three, 3, 3>, stack_has_no_such_place<x, 3>>);
static_assert(std::same_as<stack_verdict<by_model, x, three, -1, 3>, stack_has_no_such_place<x, -1>>);
static_assert(
    std::same_as<detail::stacks_with<x, shape<model, batch>>, stacked_dims_differ<x, shape<model, batch>>>);
static_assert(is_legal<detail::stacks_with<x, x>>);
static_assert(std::same_as<stack_verdict<by_model, x, some, 0, 3>, stacked_dim_is_counted<some>>);
static_assert(
    std::same_as<stack_verdict<by_model, shape<three, model>, three, 0, 3>, dim_appears_twice<three>>);
static_assert(
    std::same_as<stack_verdict<clash, x, three, 0, 3>, one_axis_splits_two_dims<rows, batch, model>>);

static_assert(std::same_as<unstack_plan<by_model, shape<batch, three, model>, three>::part, x>);
static_assert(is_legal<unstack_verdict<by_model, shape<batch, three>, three>>);
static_assert(std::same_as<unstack_verdict<by_three, shape<batch, three>, three>,
                           stacked_dim_is_split<three, axes<rows>>>);
static_assert(std::same_as<unstack_verdict<by_model, x, three>, dim_is_not_in_tensor<three>>);

// the tensors of a first dimension lie in one piece, 8 x 16 elements from one to the next; those of the last
// lie between one another
struct whole_rows : layout<grid> {};
constexpr part_steps first = stack_plan<whole_rows, x, three, 0, 3>::place;
constexpr part_steps last  = stack_plan<whole_rows, x, three, 2, 3>::place;
static_assert(first.copy.rank == 1 && first.copy.size[0] == 8 * 16 && first.stride == 8 * 16);
static_assert(last.copy.rank == 1 && last.copy.stride[0][0] == 3 && last.stride == 1);

}  // namespace
