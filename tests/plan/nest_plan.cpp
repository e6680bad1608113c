// Elementwise operations and reductions: which are legal, and over which axes a reduction is finished.
#include <meshtf/plan/nest_plan.hpp>

using namespace meshtf;

struct batch  : dim<8> {};
struct length : dim<4> {};
struct hidden : dim<6> {};
struct memory : dim<6> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>, split<length, lone>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct ragged : layout<grid, split<length, rows, cols>, split<hidden, rows, cols>> {};

constexpr axis_set over_rows = 0b01, over_cols = 0b10;

using x = shape<batch, hidden>;

// Operands are broadcast to one another by name, whatever their order.
static_assert(is_legal<elementwise_verdict<mixed, x, x>> && is_legal<elementwise_verdict<mixed, x, shape<hidden>>>);
static_assert(is_legal<elementwise_verdict<mixed, shape<length>, x>> && is_legal<elementwise_verdict<mixed, shape<>, shape<>>>);
static_assert(is_legal<elementwise_verdict<mixed, x, shape<hidden, batch>>>);

// Two operands that each can be placed may have no place together: no process would hold matching parts.
static_assert(is_legal<placement_verdict<clash, batch>> && is_legal<placement_verdict<clash, hidden>>);
static_assert(std::same_as<elementwise_verdict<clash, shape<batch>, shape<hidden>>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(std::same_as<elementwise_verdict<ragged, shape<length>, shape<memory, hidden>>, parts_do_not_divide_dim<hidden, 6, 4>>);

// A reduction works along dimensions that its tensor has; along none it changes nothing.
static_assert(is_legal<reduce_verdict<mixed, x, hidden>> && is_legal<reduce_verdict<mixed, x, hidden, batch>> && is_legal<reduce_verdict<mixed, x>>);
static_assert(std::same_as<reduce_verdict<mixed, x, length>, dim_is_not_in_tensor<length>>);
static_assert(std::same_as<reduce_verdict<mixed, x, batch, memory, length>, dim_is_not_in_tensor<memory>>);
static_assert(std::same_as<reduce_verdict<clash, x, hidden>, one_axis_splits_two_dims<rows, batch, hidden>>);

// The dimensions that stay keep their order.
static_assert(std::same_as<reduce_plan<mixed, shape<batch, length, hidden>, length>::result, x>);
static_assert(std::same_as<reduce_plan<mixed, x, hidden, batch>::result, shape<>>);

// Where a reduced dimension is split, each process has a part of the result; nothing is finished over the axes of those that stay.
static_assert(reduce_plan<mixed, x, hidden>::finished_over == over_cols && reduce_plan<mixed, x, batch>::finished_over == over_rows);
static_assert(reduce_plan<mixed, x, batch, hidden>::finished_over == (over_rows | over_cols));
static_assert(reduce_plan<mixed, shape<batch, memory>, memory>::finished_over == 0);

// Nor over an axis of one process.
static_assert(reduce_plan<mixed, shape<batch, length>, length>::finished_over == 0);

// Each process walks over the parts that it holds: four of eight rows, three of six columns.
static_assert(reduce_plan<mixed, x, hidden>::local.turns == 4 * 3 && reduce_plan<mixed, x, hidden>::local.results == 4);
static_assert(nest_plan<mixed, x, x, shape<hidden>>::local.turns == 4 * 3 && nest_plan<mixed, x, x, shape<hidden>>::local.operands == 3);
static_assert(nest_plan<mixed, x, x, shape<hidden>>::finished_over == 0);
