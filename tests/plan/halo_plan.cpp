// If it compiles, it passes.
#include <meshtf/plan/halo_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<12> {};
struct some : up_to<4> {};
struct rows : axis<2> {};
struct cols : axis<4> {};
struct grid : mesh<rows, cols> {};

struct by_length : layout<grid, split<batch, rows>, split<length, cols>> {};
struct by_both : layout<grid, padded<length, cols, rows>> {};
struct whole : layout<grid, split<some, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<length, rows>> {};

using x = shape<batch, length>;

static_assert(is_legal<halo_verdict<by_length, x, length, 3, 0>> &&
              is_legal<halo_verdict<by_length, x, length, 0, 3>>);
static_assert(std::same_as<halo_verdict<by_length, x, length, 1, 4>, halo_is_wider_than_part<length, 4, 3>>);
static_assert(std::same_as<halo_verdict<by_both, x, length, 3, 1>, halo_is_wider_than_part<length, 3, 2>>);
static_assert(is_legal<halo_verdict<whole, x, length, 20, 1>>);
static_assert(std::same_as<halo_verdict<whole, shape<some>, some, 1, 1>, haloed_dim_is_counted<some>>);
static_assert(
    std::same_as<halo_verdict<clash, x, length, 1, 1>, one_axis_splits_two_dims<rows, batch, length>>);
static_assert(
    std::same_as<halo_verdict<by_length, shape<batch>, length, 1, 1>, dim_is_not_in_tensor<length>>);

// 4 parts of 3 with 2 before and 1 after each; the process has storage for one of them, and its neighbours
// are those along cols
using plan = halo_plan<by_length, x, length, 2, 1>;
static_assert(std::same_as<plan::result, shape<batch, haloed<length, 2, 1, 4>>> && plan::wide::size == 24);
static_assert(placed_under<by_length, plan::wide>.allocated_extent() == 6 &&
              shard_size<by_length, plan::result> == 4 * 6);
static_assert(plan::exchanges && plan::row == 4 && plan::over.count == 1 && plan::over[0] == 1);
static_assert(plan::out.from == 3 && plan::out.to == 6 && plan::out.outer == 4 && plan::out.inner == 1);
static_assert(halo_plan<by_both, x, length, 1, 1>::wide::size == 8 * 4);  // 12 in 8 parts: room for 2 each
static_assert(!halo_plan<whole, x, length, 2, 1>::exchanges &&
              halo_plan<whole, x, length, 2, 1>::wide::size == 15);

}  // namespace
