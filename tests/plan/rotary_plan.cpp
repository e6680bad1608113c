// If it compiles, it passes.
#include <meshtf/plan/rotary_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct heads : dim<4> {};
struct key : dim<16> {};
struct odd : dim<5> {};
struct other : dim<3> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct split_heads : layout<grid, split<batch, rows>, split<heads, cols>> {};
struct split_length : layout<grid, split<length, rows>> {};
struct split_key : layout<grid, split<key, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<heads, rows>> {};

using q = shape<batch, length, heads, key>;

static_assert(is_legal<rotary_verdict<split_heads, q, key, shape<length>>>);
static_assert(is_legal<rotary_verdict<split_length, q, key, shape<length>>>);
static_assert(is_legal<rotary_verdict<split_heads, q, key, shape<length, batch>>>);
static_assert(
    std::same_as<rotary_verdict<split_key, q, key, shape<length>>, rotated_dim_is_split<key, axes<cols>>>);
static_assert(
    std::same_as<rotary_verdict<split_heads, q, other, shape<length>>, dim_is_not_in_tensor<other>>);
static_assert(std::same_as<rotary_verdict<split_heads, shape<length, odd>, odd, shape<length>>,
                           rotated_dim_is_odd<odd>>);
static_assert(
    std::same_as<rotary_verdict<split_heads, q, key, shape<other>>, positions_have_other_dim<other>>);
static_assert(
    std::same_as<rotary_verdict<clash, q, key, shape<length>>, one_axis_splits_two_dims<rows, batch, heads>>);

// the cosines of a position are computed once for all sequences and heads
constexpr rotary_steps steps = rotary_plan<split_heads, q, key, shape<length>>::steps;
static_assert(steps.places.iterations == 6 && steps.lines.iterations == 4 * 2 && steps.pairs == 8 &&
              steps.from == 1 && steps.to == 1);
static_assert(steps.places.stride[0][0] == 2 * 16 && steps.places.stride[2][0] == 1);
static_assert(task::rotate<float>::scratch(steps) == 16);

}  // namespace
