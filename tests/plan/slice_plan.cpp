// If it compiles, it passes.
#include <meshtf/plan/slice_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct longest : dim<32> {};
struct length : dim<6> {};
struct five : dim<5> {};
struct four : dim<4> {};
struct model : dim<16> {};

struct rows : axis<2> {};
struct solo : axis<1> {};
struct grid : mesh<rows, solo> {};

struct by_batch : layout<grid, split<batch, rows>, split<longest, solo>> {};
struct by_length : layout<grid, split<length, rows>> {};
struct by_longest : layout<grid, split<longest, rows, solo>> {};
struct corresponding : layout<grid, split<length, rows>, padded<five, rows>, padded<four, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<length, rows>> {};

using x = shape<longest, model>;
using y = shape<batch, longest>;

static_assert(std::same_as<slice_plan<by_batch, y, longest, length>::result, shape<batch, length>>);

static_assert(is_legal<slice_verdict<by_batch, x, longest, length>>);  // an axis of size 1 splits nothing
static_assert(is_legal<slice_verdict<by_length, x, longest, length>>);
static_assert(is_legal<slice_verdict<by_batch, x, longest, longest>>);
static_assert(std::same_as<slice_verdict<by_longest, x, longest, length>,
                           sliced_dim_is_split<longest, axes<rows, solo>>>);
// both have parts of three
static_assert(is_legal<slice_verdict<corresponding, shape<length, model>, length, five>>);
static_assert(std::same_as<slice_verdict<corresponding, shape<length, model>, length, four>,
                           sliced_dim_is_split<length, axes<rows>>>);
static_assert(std::same_as<slice_verdict<by_batch, x, batch, length>, dim_is_not_in_tensor<batch>>);
static_assert(std::same_as<slice_verdict<by_batch, shape<length>, length, longest>,
                           slice_is_larger_than_dim<longest, length>>);
static_assert(std::same_as<slice_verdict<by_batch, shape<longest, length>, longest, length>,
                           dim_appears_twice<length>>);
static_assert(
    std::same_as<slice_verdict<clash, y, longest, length>, one_axis_splits_two_dims<rows, batch, length>>);

// rows that lie together are one copy
static_assert(slice_plan<by_batch, x, longest, length>::part.copy.rank == 1 &&
              slice_plan<by_batch, x, longest, length>::part.copy.size[0] == 6 * 16);

// in each of four lines of 32, six elements
constexpr nest_steps lines = slice_plan<by_batch, y, longest, length>::part.copy;
static_assert(lines.rank == 2 && lines.size[0] == 4 && lines.size[1] == 6 && lines.stride[0][0] == 32 &&
              lines.stride[1][0] == 6);
// and from one of the elements along the dimension to the next
static_assert(slice_plan<by_batch, x, longest, length>::part.stride == 16 &&
              slice_plan<by_batch, y, longest, length>::part.stride == 1);

}  // namespace
