// If it compiles, it passes.
#include <meshtf/plan/nest_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct hidden : dim<16> {};
struct out : dim<6> {};
struct ragged : dim<7> {};

struct pods : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<pods, rows, cols, lone> {};

struct mixed
    : layout<grid, split<batch, pods, rows>, split<hidden, cols>, split<out, lone>, split<ragged, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};

constexpr axis_set over_pods_and_rows = 0b0011;
constexpr axis_set over_cols          = 0b0100;
constexpr axis_set over_nothing       = 0;

using x = shape<batch, hidden>;

// elementwise: every process has all it needs, and works on its part alone
using sum = nest_plan<mixed, x, x, shape<hidden>>;
static_assert(is_legal<sum::verdict> && sum::finished_over == over_nothing &&
              sum::local.iterations == (8 / 4) * (16 / 2));
static_assert(is_legal<elementwise_verdict<mixed, x, shape<hidden>>>);

// a sum over a split dimension is finished over its axes, all of them; over a whole one it is local
static_assert(reduce_plan<mixed, x, hidden>::finished_over == over_cols &&
              reduce_plan<mixed, x, batch>::finished_over == over_pods_and_rows);
static_assert(reduce_plan<mixed, x, batch, hidden>::finished_over == (over_pods_and_rows | over_cols));
static_assert(reduce_plan<mixed, shape<batch, out>, out>::finished_over == over_nothing);
static_assert(std::same_as<reduce_plan<mixed, x, batch>::result, shape<hidden>> &&
              std::same_as<reduce_plan<mixed, x, batch, hidden>::result, shape<>>);
static_assert(reduce_plan<mixed, x, hidden>::local.iterations == 16 &&
              reduce_plan<mixed, x, hidden>::local.results == 2);

// each operand alone is fine under `clash`; together no process has matching parts
static_assert(is_legal<placement_verdict<clash, batch>> && is_legal<placement_verdict<clash, hidden>>);
static_assert(std::same_as<elementwise_verdict<clash, shape<batch>, shape<hidden>>,
                           one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(std::same_as<elementwise_verdict<clash, shape<hidden>, shape<batch>>,
                           one_axis_splits_two_dims<rows, hidden, batch>>);

// a reduction works along dimensions that the tensor has
static_assert(is_legal<reduce_verdict<mixed, x, hidden, batch>> && is_legal<reduce_verdict<mixed, x>>);
static_assert(std::same_as<reduce_verdict<mixed, x, hidden, out>, dim_is_not_in_tensor<out>>);
static_assert(std::same_as<reduce_verdict<mixed, shape<>, batch>, dim_is_not_in_tensor<batch>>);

// and of a tensor that there can be
static_assert(
    std::same_as<reduce_verdict<mixed, shape<ragged>, ragged>, parts_do_not_divide_dim<ragged, 7, 2>>);

// a layout and its dry form plan alike
static_assert(reduce_plan<dry<mixed>, x, hidden>::finished_over == over_cols);

}  // namespace
