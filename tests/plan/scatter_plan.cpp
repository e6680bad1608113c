// If it compiles, it passes.
#include <meshtf/plan/scatter_plan.hpp>

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
struct clash : layout<grid, split<batch, rows>, split<vocab, rows>> {};

using base    = shape<vocab, model>;
using batched = shape<batch, vocab, model>;
using ids     = shape<batch, length>;
using updates = shape<batch, length, model>;

// all updates of a row must be where the row is: dimensions that only the ids have are whole, unless the
// updates are added
static_assert(std::same_as<scatter_verdict<by_batch, base, vocab, ids, updates>,
                           scattered_updates_are_split<batch, axes<rows>>>);
// an axis of size 1 splits nothing
static_assert(is_legal<scatter_verdict<by_batch, base, vocab, shape<length>, shape<length, model>>>);
static_assert(is_legal<scatter_verdict<by_batch, batched, vocab, ids, updates>>);
static_assert(is_legal<scatter_verdict<by_vocab, batched, vocab, ids, updates>>);
static_assert(is_legal<scatter_add_verdict<by_batch, base, vocab, ids, updates>>);
static_assert(is_legal<scatter_add_verdict<by_vocab, base, vocab, ids, updates>>);

// the rest as in a gather
static_assert(
    std::same_as<scatter_verdict<by_batch, base, batch, ids, updates>, dim_is_not_in_tensor<batch>>);
static_assert(std::same_as<scatter_verdict<by_batch, base, vocab, shape<vocab>, shape<vocab, model>>,
                           ids_have_dim_that_they_index<vocab>>);
static_assert(std::same_as<scatter_add_verdict<clash, base, vocab, ids, updates>,
                           one_axis_splits_two_dims<rows, batch, vocab>>);
static_assert(std::same_as<scatter_add_verdict<by_batch, base, vocab, ids, shape<length, batch, model>>,
                           updates_have_other_dims<updates, shape<length, batch, model>>>);

// what is unreduced: the sum over the axes of updates, and that of the gradient of updates over the axes of
// the rows
constexpr axis_set over_rows = axis_set_of<grid, axes<rows>>;
constexpr axis_set over_cols = axis_set_of<grid, axes<cols>>;
static_assert(scatter_add_plan<by_vocab, base, vocab, ids, updates>::table_unreduced == over_rows);
static_assert(scatter_add_plan<by_vocab, base, vocab, ids, updates>::finished_over == over_cols);
static_assert(scatter_add_plan<by_vocab, batched, vocab, ids, updates>::table_unreduced == 0);

// what is touched: the rows, read and written, and the ids
constexpr auto steps = scatter_plan<by_vocab, batched, vocab, ids, updates>::rows;
static_assert(task::set_rows<float>::work(steps).bytes == 2 * 4 * 6 * 16 * 4 + 4 * 6 * 4);
static_assert(task::take_rows<float>::work(steps).bytes == 3 * 4 * 6 * 16 * 4 + 4 * 6 * 4);

}  // namespace
