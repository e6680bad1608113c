// If it compiles, it passes.
#include <meshtf/core/placement.hpp>

namespace {

using namespace meshtf;

struct batch : dim<12> {};
struct hidden : dim<16> {};
struct out : dim<4> {};

struct rows : axis<2> {};
struct five : axis<5> {};
struct planes : axis<3> {};
struct grid : mesh<rows, five> {};

struct data_parallel : layout<grid, split<batch, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct uneven : layout<grid, split<batch, rows, five>> {};
struct stray : layout<grid, split<batch, planes>> {};
struct twice : layout<grid, split<batch, rows>, split<batch, five>> {};
struct stutter : layout<grid, split<batch, rows, rows>> {};

// a legal layout: split or whole, each axis once
static_assert(is_legal<placement_verdict<data_parallel, batch, hidden>>);
static_assert(is_legal<placement_verdict<data_parallel>>);

// an axis may split one dimension of a tensor, so the same layout is fine for one tensor and not for another
static_assert(is_legal<placement_verdict<clash, batch, out>> &&
              is_legal<placement_verdict<clash, out, hidden>>);
static_assert(
    std::same_as<placement_verdict<clash, batch, hidden>, one_axis_splits_two_dims<rows, batch, hidden>>);

// the two are named in the order of the tensor
static_assert(std::same_as<placement_verdict<clash, hidden, out, batch>,
                           one_axis_splits_two_dims<rows, hidden, batch>>);

// twelve does not go into two times five parts
static_assert(std::same_as<placement_verdict<uneven, hidden, batch>, parts_do_not_divide_dim<batch, 12, 10>>);
static_assert(is_legal<placement_verdict<uneven, hidden>>);

// a tensor names each dimension once
static_assert(std::same_as<placement_verdict<data_parallel, batch, hidden, batch>, dim_appears_twice<batch>>);
static_assert(
    std::same_as<placement_verdict<data_parallel, hidden, hidden, batch, batch>, dim_appears_twice<hidden>>);

// two aliases of one size are one dimension; one of them alone has nothing to be confused with
using wide = dim<64>;
using deep = dim<64>;
static_assert(
    std::same_as<placement_verdict<data_parallel, wide, batch, deep>, aliases_are_one_dim<dim<64>>>);
static_assert(is_legal<placement_verdict<data_parallel, wide, batch>>);

// a layout whose rules are unsound places nothing, not even what the rule is not about
static_assert(std::same_as<placement_verdict<stray, hidden>, axis_is_not_in_mesh<planes, batch, grid>>);
static_assert(std::same_as<placement_verdict<twice, hidden>, two_rules_for_dim<batch>>);
static_assert(std::same_as<placement_verdict<stutter>, axis_splits_dim_twice<rows, batch>>);

// asked with a shape or under the dry twin, the answer is the same
static_assert(
    std::same_as<placement_verdict_of<clash, shape<batch, hidden>>, placement_verdict<clash, batch, hidden>>);
static_assert(
    std::same_as<placement_verdict<dry<clash>, batch, hidden>, placement_verdict<clash, batch, hidden>>);

// the rule is a function of values: a search can call it for layouts that no type names
constexpr placed by_rows{.size = 8, .parts = 2, .over = {{0}, 1}};
constexpr placed ragged{.size = 9, .parts = 2, .over = {{1}, 1}};
static_assert(examine(std::array{by_rows, by_rows}).reason == placement_fault::two_dims);
static_assert(examine(std::array{by_rows, placed{.size = 8}}).reason == placement_fault::none);
static_assert(examine(std::span<placed const>{}).reason == placement_fault::none);

// the first fault is told, with the places of the dimensions and the axis
constexpr placement_fault both = examine(std::array{placed{.size = 8}, by_rows, ragged, by_rows});
static_assert(both.reason == placement_fault::ragged && both.first == 2);
constexpr placement_fault shared =
    examine(std::array{placed{.size = 8}, by_rows, placed{.size = 8}, by_rows});
static_assert(shared.reason == placement_fault::two_dims && shared.first == 1 && shared.second == 3 &&
              shared.axis == 0);

}  // namespace
