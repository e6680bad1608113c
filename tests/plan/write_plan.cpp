// If it compiles, it passes.
#include <meshtf/plan/write_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct longest : dim<32> {};
struct length : dim<6> {};
struct model : dim<16> {};

struct rows : axis<2> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct by_batch : layout<grid, split<batch, rows>> {};
struct by_length : layout<grid, split<length, rows>> {};
struct by_longest : layout<grid, split<batch, rows>, split<longest, cols>> {};

using x    = shape<batch, longest, model>;
using part = shape<batch, length, model>;

static_assert(is_legal<write_verdict<by_batch, x, longest, part>>);
static_assert(is_legal<write_verdict<by_longest, x, longest, part>>);
static_assert(
    std::same_as<write_verdict<by_length, x, longest, part>, written_part_is_split<length, axes<rows>>>);
static_assert(std::same_as<write_verdict<by_batch, x, length, part>, dim_is_not_in_tensor<length>>);
static_assert(std::same_as<write_verdict<by_batch, x, longest, shape<length, batch, model>>,
                           written_part_has_other_dims<longest, shape<length, batch, model>>>);
static_assert(std::same_as<write_verdict<by_batch, x, longest, shape<batch, model>>,
                           written_part_has_other_dims<longest, shape<batch, model>>>);
static_assert(std::same_as<write_verdict<by_batch, x, longest, x>, written_part_has_other_dims<longest, x>>);
static_assert(
    std::same_as<write_verdict<by_batch, part, length, x>, slice_is_larger_than_dim<longest, length>>);

// the gradient of the part is a sum over the axes that split the dimension
static_assert(write_plan<by_batch, x, longest, part>::finished_over == 0);
static_assert(write_plan<by_longest, x, longest, part>::finished_over == axis_set_of<grid, axes<cols>>);

// each process copies those elements that it has: rows that lie together are one copy
constexpr auto whole = write_plan<by_batch, x, longest, part>::part;
constexpr auto cut   = write_plan<by_longest, x, longest, part>::part;
static_assert(whole.max_elements() == 4 * 6 * 16 &&
              task::write_part<float>::work(whole).bytes == 2 * 4 * 4 * 6 * 16);
constexpr extent nowhere[]{0, 0};
constexpr extent second[]{1, 1};
constexpr extent sizes[]{2, 2};
constexpr write_range all{whole, 5, {nowhere, sizes}};
static_assert(all.in_whole == 5 * 16 && all.in_part == 0 && all.copy.rank == 2 && all.copy.size[0] == 4 &&
              all.copy.size[1] == 6 * 16);

// elements 13 to 18 of 16 and 16: the first process has three of them, the second the other three
constexpr write_range low{cut, 13, {nowhere, sizes}};
constexpr write_range high{cut, 13, {second, sizes}};
constexpr write_range none{cut, 2, {second, sizes}};
static_assert(low.in_whole == 13 * 16 && low.in_part == 0 && low.copy.iterations == 4 * 3 * 16);
static_assert(high.in_whole == 0 && high.in_part == 3 * 16 && high.copy.iterations == 4 * 3 * 16);
static_assert(none.copy.iterations == 0);

}  // namespace
