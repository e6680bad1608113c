// If it compiles, it passes.
#include <meshtf/plan/einsum_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct in : dim<4> {};
struct hidden : dim<16> {};
struct heads : dim<4> {};
struct ragged : dim<6> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct deep : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, deep, lone> {};

struct mixed : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct deeper : layout<grid, split<batch, rows>, split<hidden, deep, cols>, split<in, lone>> {};
struct by_in : layout<grid, split<batch, rows>, split<in, cols>, split<heads, deep>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct uneven : layout<grid, split<ragged, rows, cols>> {};
struct twice : layout<grid, split<batch, rows>, split<batch, cols>> {};

constexpr axis_set over_rows    = 0b0001;
constexpr axis_set over_cols    = 0b0010;
constexpr axis_set over_deep    = 0b0100;
constexpr axis_set over_nothing = 0;

using x = shape<batch, in>;
using w = shape<in, hidden>;
using y = shape<batch, hidden>;

// into the hidden dimension: every process has all it needs
using up = einsum_plan<mixed, y, x, w>;
static_assert(is_legal<up::verdict> && std::same_as<up::summed, shape<in>>);
static_assert(up::local.flops == 2 * (8 / 2) * 4 * (16 / 2));
static_assert(up::finished_over == over_nothing);

// out of it: each process along cols has a part of the sum
using down = einsum_plan<mixed, x, y, w>;
static_assert(down::finished_over == over_cols && down::local.flops == up::local.flops);

// the gradient of the weight sums over the batch
static_assert(einsum_plan<mixed, w, x, y>::finished_over == over_rows);

// a dimension over two axes is finished over both, and axes of one process are in no plan
static_assert(einsum_plan<deeper, x, y, w>::finished_over == (over_cols | over_deep));
static_assert(einsum_plan<deeper, y, x, w>::finished_over == over_nothing);

// several summed dimensions: one sum over the axes of all; a dimension that stays is in none
using all = einsum_plan<by_in, shape<hidden>, shape<batch, in>, shape<batch, in, hidden>>;
static_assert(all::finished_over == (over_rows | over_cols) && std::same_as<all::summed, shape<batch, in>>);
static_assert(einsum_plan<by_in, shape<batch, heads, hidden>, shape<batch, heads, in>,
                          shape<heads, in, hidden>>::finished_over == over_cols);

// loops are those that stay, and then those that are summed
static_assert(std::same_as<down::loops, shape<batch, in, hidden>> &&
              std::same_as<all::loops, shape<hidden, batch, in>>);

// down to one number, and with one
static_assert(einsum_plan<mixed, shape<>, y, y>::finished_over == (over_rows | over_cols) &&
              is_legal<einsum_verdict<mixed, shape<>, y, y>>);
static_assert(is_legal<einsum_verdict<mixed, y, y, shape<>>> &&
              is_legal<einsum_verdict<mixed, shape<>, shape<>, shape<>>>);

// each operand alone is fine under `clash`; together they are not, not even where the sum has neither
// dimension
static_assert(is_legal<placement_verdict<clash, batch, in>> &&
              is_legal<placement_verdict<clash, in, hidden>>);
static_assert(std::same_as<einsum_verdict<clash, y, x, w>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(
    std::same_as<einsum_verdict<clash, shape<in>, x, w>, one_axis_splits_two_dims<rows, batch, hidden>>);

// nothing can stay that nobody brought
static_assert(std::same_as<einsum_verdict<mixed, shape<batch, heads>, x, w>, dim_is_not_an_operand<heads>>);
static_assert(std::same_as<einsum_verdict<mixed, y, x, x>, dim_is_not_an_operand<hidden>>);

// nor twice
static_assert(std::same_as<einsum_verdict<mixed, shape<batch, batch>, x, w>, dim_appears_twice<batch>>);

// objections to the layout are handed on
static_assert(std::same_as<einsum_verdict<uneven, shape<batch>, shape<batch, ragged>, shape<ragged>>,
                           parts_do_not_divide_dim<ragged, 6, 4>>);
static_assert(std::same_as<einsum_verdict<twice, y, x, w>, two_rules_for_dim<batch>>);

// a layout and its dry form plan alike
static_assert(einsum_plan<dry<mixed>, x, y, w>::finished_over == over_cols &&
              std::same_as<einsum_verdict<dry<clash>, y, x, w>, einsum_verdict<clash, y, x, w>>);

}  // namespace
