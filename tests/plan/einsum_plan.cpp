// einsum: which are legal, what each process multiplies, and over which axes the products are added up.
#include <meshtf/plan/einsum_plan.hpp>

using namespace meshtf;

struct batch  : dim<8> {};
struct in     : dim<4> {};
struct hidden : dim<6> {};
struct memory : dim<6> {};
struct wide   : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, lone> {};

struct mixed  : layout<grid, split<batch, rows>, split<hidden, cols>> {};
struct clash  : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct ragged : layout<grid, split<hidden, rows, cols>> {};
struct deep   : layout<grid, split<wide, cols, rows>> {};
struct idle   : layout<grid, split<in, lone>> {};

constexpr axis_set over_rows = 0b01, over_cols = 0b10;

using x = shape<batch, in>;
using w = shape<in, hidden>;
using h = shape<batch, hidden>;

// Into the split dimension: every process has all it needs.
using up = einsum_plan<mixed, h, x, w>;
static_assert(is_legal<up::verdict> && std::same_as<up::summed, shape<in>> && std::same_as<up::loops, shape<batch, hidden, in>>);
static_assert(up::finished_over == 0);
static_assert(up::local.flops == 2 * (8 / 2) * 4 * (6 / 2));

// Out of it: each process along cols has one addend.
using down = einsum_plan<mixed, x, h, w>;
static_assert(is_legal<down::verdict> && std::same_as<down::summed, shape<hidden>> && down::finished_over == over_cols);

// The gradient of the weight sums over the batch.
static_assert(einsum_plan<mixed, w, x, h>::finished_over == over_rows);

// A sum of everything is finished over all axes together; one that keeps everything over none.
static_assert(einsum_plan<mixed, shape<>, h, h>::finished_over == (over_rows | over_cols));
static_assert(einsum_plan<mixed, h, h, h>::finished_over == 0 && einsum_plan<mixed, shape<hidden, batch>, h, h>::finished_over == 0);

// A dimension over two axes is finished over both, one over an axis of one process over none.
static_assert(einsum_plan<deep, shape<batch>, shape<batch, wide>, shape<wide>>::finished_over == (over_rows | over_cols));
static_assert(einsum_plan<idle, h, x, w>::finished_over == 0);

// The order of dimensions in the operands and in the result is free.
static_assert(is_legal<einsum_verdict<mixed, shape<hidden, batch>, shape<in, batch>, w>>);
// An outer product sums nothing, a dimension of one operand alone may be summed.
static_assert(is_legal<einsum_verdict<mixed, h, shape<batch>, shape<hidden>>> && is_legal<einsum_verdict<mixed, shape<batch>, x, shape<>>>);

// Each operand alone is fine under `clash`; together they are not, even where the sum would take one of the two dimensions away.
static_assert(is_legal<placement_verdict<clash, batch, in>> && is_legal<placement_verdict<clash, in, hidden>>);
static_assert(std::same_as<einsum_verdict<clash, h, x, w>, one_axis_splits_two_dims<rows, batch, hidden>>);
static_assert(std::same_as<einsum_verdict<clash, shape<batch>, x, w>, one_axis_splits_two_dims<rows, batch, hidden>>);

// Nothing can stay that no operand has, and nothing stays twice.
static_assert(std::same_as<einsum_verdict<mixed, h, x, x>, dim_is_not_an_operand<hidden>>);
static_assert(std::same_as<einsum_verdict<mixed, shape<batch, batch>, x, w>, dim_appears_twice<batch>>);
// The first objection counts.
static_assert(std::same_as<einsum_verdict<clash, shape<batch, memory, batch>, h, w>, dim_is_not_an_operand<memory>>);

// Six does not go into four parts.
static_assert(std::same_as<einsum_verdict<ragged, h, x, w>, parts_do_not_divide_dim<hidden, 6, 4>>);

// A dry layout shares the plan.
static_assert(std::same_as<einsum_verdict<dry<clash>, h, x, w>, einsum_verdict<clash, h, x, w>>);
