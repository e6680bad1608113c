// Placement: may a tensor of these dimensions live on the mesh under this layout?
#include <meshtf/core/placement.hpp>

using namespace meshtf;

struct batch  : dim<12> {};
struct hidden : dim<16> {};
struct model  : dim<16> {};

struct rows : axis<2> {};
struct five : axis<5> {};
struct lone : axis<1> {};
struct grid : mesh<rows, five, lone> {};

struct data_parallel : layout<grid, split<batch, rows>> {};
struct clash         : layout<grid, split<batch, rows>, split<hidden, rows>> {};
struct uneven        : layout<grid, split<batch, rows, five>> {};
struct idle          : layout<grid, split<batch, lone>, split<hidden, lone, rows>> {};

// Split or whole, each axis once: nothing to object to. A number lives everywhere.
static_assert(is_legal<placement_verdict<data_parallel, batch, hidden>>);
static_assert(is_legal<placement_verdict<data_parallel>>);
static_assert(std::same_as<placement_verdict_of<data_parallel, shape<batch, hidden>>, legal>);

// An axis may split one dimension of a tensor, so one layout is fine for one tensor and not for another.
static_assert(is_legal<placement_verdict<clash, batch>> && is_legal<placement_verdict<clash, model, hidden>>);
static_assert(std::same_as<placement_verdict<clash, batch, hidden>, one_axis_splits_two_dims<rows, batch, hidden>>);

// The two are named in the tensor's order, whatever stands between them.
static_assert(std::same_as<placement_verdict<clash, hidden, model, batch>, one_axis_splits_two_dims<rows, hidden, batch>>);

// Not even an axis of one process may: another machine could have two.
static_assert(is_legal<placement_verdict<idle, batch>>);
static_assert(std::same_as<placement_verdict<idle, batch, hidden>, one_axis_splits_two_dims<lone, batch, hidden>>);

// Twelve does not go into two times five parts.
static_assert(std::same_as<placement_verdict<uneven, hidden, batch>, parts_do_not_divide_dim<batch, 12, 10>>);
static_assert(is_legal<placement_verdict<uneven, hidden, model>>);

// A tensor names each dimension once.
static_assert(std::same_as<placement_verdict<data_parallel, batch, hidden, batch>, dim_appears_twice<batch>>);
static_assert(std::same_as<placement_verdict<data_parallel, model, hidden, hidden>, dim_appears_twice<hidden>>);

// A layout whose rules are unsound places nothing, not even a number.
struct doubled : layout<grid, split<batch, rows>, split<batch, five>> {};
static_assert(std::same_as<placement_verdict<doubled, hidden>, two_rules_for_dim<batch>>);
static_assert(std::same_as<placement_verdict<doubled>, two_rules_for_dim<batch>>);

// Of several objections the first is told: rules, then names, then the dimensions in their order.
static_assert(std::same_as<placement_verdict<doubled, hidden, hidden>, two_rules_for_dim<batch>>);
static_assert(std::same_as<placement_verdict<uneven, batch, hidden, hidden>, dim_appears_twice<hidden>>);

// A dry layout has the same answers.
static_assert(std::same_as<placement_verdict<dry<clash>, batch, hidden>, one_axis_splits_two_dims<rows, batch, hidden>>);

// The rule is a function of values: a search can call it for layouts that no type names.
constexpr placed by_rows{.size = 8, .parts = 2, .over = {{0}, 1}};
constexpr placed ragged{.size = 9, .parts = 2, .over = {{1}, 1}};
static_assert(examine(std::array{by_rows, by_rows}).what == placement_fault::two_dims);
static_assert(examine(std::array{by_rows, placed{.size = 8}}).what == placement_fault::none);
static_assert(examine({}).what == placement_fault::none);
constexpr auto fault = examine(std::array{placed{.size = 3}, by_rows, placed{.size = 8, .parts = 4, .over = {{3, 0}, 2}}});
static_assert(fault.what == placement_fault::two_dims && fault.first == 1 && fault.second == 2 && fault.axis == 0);
static_assert(examine(std::array{by_rows, ragged}).what == placement_fault::ragged && examine(std::array{by_rows, ragged}).first == 1);
