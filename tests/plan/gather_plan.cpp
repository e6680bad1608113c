// If it compiles, it passes.
#include <meshtf/plan/gather_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct vocab : dim<32> {};
struct model : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct solo : axis<1> {};
struct grid : mesh<rows, cols, solo> {};

struct by_batch : layout<grid, split<batch, rows>, split<length, solo>> {};
struct by_vocab : layout<grid, split<batch, rows>, split<vocab, solo, cols>> {};
struct by_model : layout<grid, split<batch, rows>, split<model, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<vocab, rows>> {};
struct clash_of_model : layout<grid, split<batch, rows>, split<model, rows>> {};

using table = shape<vocab, model>;
using ids   = shape<batch, length>;

// the dimensions of the ids, then those of the table but for the rows
template<class Table, class Ids>
using result = typename gather_plan<by_batch, Table, vocab, Ids>::result;
static_assert(std::same_as<result<table, ids>, shape<batch, length, model>>);
static_assert(std::same_as<result<shape<model, vocab>, shape<batch>>, shape<batch, model>>);
static_assert(std::same_as<result<shape<vocab>, shape<>>, shape<>>);

static_assert(is_legal<gather_verdict<by_vocab, table, vocab, ids>>);
static_assert(std::same_as<gather_verdict<by_batch, table, batch, ids>, dim_is_not_in_tensor<batch>>);
static_assert(std::same_as<gather_verdict<by_batch, table, vocab, shape<model, vocab>>,
                           ids_have_dim_that_they_index<vocab>>);

// dimensions that the ids share with the table stand where the ids have them, and are split alike
static_assert(is_legal<gather_verdict<by_model, table, vocab, shape<batch, model>>>);
static_assert(std::same_as<result<table, shape<batch, model>>, shape<batch, model>>);
static_assert(std::same_as<result<shape<batch, vocab, model>, ids>, shape<batch, length, model>>);

// where the ids and the table would be split over one axis, no process has the rows of its own ids
static_assert(
    std::same_as<gather_verdict<clash, table, vocab, ids>, one_axis_splits_two_dims<rows, batch, vocab>>);
static_assert(std::same_as<gather_verdict<clash_of_model, table, vocab, ids>,
                           one_axis_splits_two_dims<rows, batch, model>>);

// rows that are split are finished over their axes; the table's gradient is unreduced over those of the ids,
// and an axis of size 1 is in no plan
constexpr axis_set over_rows = axis_set_of<grid, axes<rows>>;
constexpr axis_set over_cols = axis_set_of<grid, axes<cols>>;
template<class L>
using plan = gather_plan<L, table, vocab, ids>;
static_assert(plan<by_batch>::finished_over == 0 && plan<by_batch>::table_unreduced == over_rows);
static_assert(plan<by_vocab>::finished_over == over_cols && plan<by_vocab>::table_unreduced == over_rows);
static_assert(plan<by_model>::finished_over == 0 && plan<by_model>::table_unreduced == over_rows);
static_assert(gather_plan<by_vocab, table, vocab, shape<length>>::table_unreduced == 0);

static_assert(plan<by_vocab>::rows.ids == 4 * 6 && plan<by_vocab>::rows.lines.along == 16 &&
              plan<by_vocab>::rows.lines.global == 32);

// batched: nothing is unreduced over the axes of a shared dimension, and each of its elements is a block of
// its own; or each id has its own row
template<class L>
using batched = gather_plan<L, shape<batch, vocab, model>, vocab, ids>;
static_assert(batched<by_batch>::finished_over == 0 && batched<by_batch>::table_unreduced == 0);
static_assert(batched<by_vocab>::finished_over == over_cols && batched<by_vocab>::table_unreduced == 0);
static_assert(batched<by_batch>::rows.ids == 4 * 6 && batched<by_batch>::rows.rows == 16 &&
              batched<by_batch>::rows.block_ids == 6);
static_assert(batched<by_batch>::rows.blocks.iterations() == 4 &&
              batched<by_batch>::rows.blocks.stride[1][0] == 32 * 16);
using one_of_each = gather_plan<by_batch, shape<batch, vocab>, vocab, shape<batch>>;
static_assert(one_of_each::rows.blocks.iterations() == 1 && one_of_each::rows.block_ids == 4 &&
              one_of_each::rows.table_stride == 32);

}  // namespace
