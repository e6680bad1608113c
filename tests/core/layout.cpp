// Layouts: which dimension is split over which axes, and which rules make no layout.
#include <meshtf/core/layout.hpp>

#include <boost/hana/length.hpp>

using namespace meshtf;

struct batch  : dim<16> {};
struct hidden : dim<8>  {};
struct model  : dim<4>  {};

struct pods  : axis<2> {};
struct rows  : axis<2> {};
struct cols  : axis<4> {};
struct far   : axis<2> {};
struct grid  : mesh<pods, rows, cols> {};

struct whole   : layout<grid> {};
struct mixed   : layout<grid, split<batch, pods, rows>, split<hidden, cols>> {};
struct turned  : layout<grid, split<batch, rows, pods>> {};
struct by_none : layout<grid, split<batch>> {};

// A dimension is split over the axes of its rule, outermost first; without a rule, or by a rule without axes, over none.
static_assert(std::same_as<axes_of<mixed, batch>, axes<pods, rows>>);
static_assert(std::same_as<axes_of<turned, batch>, axes<rows, pods>>);
static_assert(std::same_as<axes_of<mixed, hidden>, axes<cols>>);
static_assert(std::same_as<axes_of<mixed, model>, axes<>> && std::same_as<axes_of<whole, batch>, axes<>> && std::same_as<axes_of<by_none, batch>, axes<>>);

// Rules that make a layout are legal, and a layout without rules is one.
static_assert(is_legal<mixed::rules_verdict> && is_legal<turned::rules_verdict> && is_legal<whole::rules_verdict> && is_legal<by_none::rules_verdict>);
static_assert(Layout<mixed> && Layout<whole> && !Layout<grid> && !Layout<batch>);

// One axis may have rules for several dimensions: whether a tensor has two of them is a question of placement.
struct both : layout<grid, split<batch, rows>, split<hidden, rows>> {};
static_assert(is_legal<both::rules_verdict>);

// An axis that the mesh lacks, two rules for one dimension, an axis named twice: each is an objection, never a silent copy on every process.
struct astray   : layout<grid, split<batch, pods>, split<hidden, far>> {};
struct doubled  : layout<grid, split<batch, pods>, split<hidden, cols>, split<batch, rows>> {};
struct stutters : layout<grid, split<hidden, cols, rows, cols>> {};
static_assert(std::same_as<astray::rules_verdict, axis_is_not_in_mesh<far, hidden, grid>>);
static_assert(std::same_as<doubled::rules_verdict, two_rules_for_dim<batch>>);
static_assert(std::same_as<stutters::rules_verdict, axis_splits_dim_twice<cols, hidden>>);
static_assert(!is_legal<astray::rules_verdict> && !is_legal<doubled::rules_verdict> && !is_legal<stutters::rules_verdict>);

// Rules are a Hana map from dimensions to axes.
static_assert(decltype(hana::length(mixed::rules))::value == 2);
static_assert(decltype(mixed::rules[hana::type_c<hidden>])::type::size == 4);

// A dry layout has the rules of the one it is made of, and its name within.
static_assert(is_dry<dry<mixed>> && !is_dry<mixed>);
static_assert(Layout<dry<mixed>> && std::same_as<dry<mixed>::mesh_type, grid>);
static_assert(std::same_as<axes_of<dry<mixed>, batch>, axes<pods, rows>>);
static_assert(std::same_as<dry<doubled>::rules_verdict, two_rules_for_dim<batch>>);

// `wet` takes it off, and leaves other layouts alone.
static_assert(std::same_as<wet<dry<mixed>>, mixed> && std::same_as<wet<mixed>, mixed>);
