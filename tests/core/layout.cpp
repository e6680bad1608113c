// If it compiles, it passes.
#include <boost/hana/equal.hpp>
#include <boost/hana/length.hpp>

#include <meshtf/core/layout.hpp>
#include <meshtf/core/placed.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct hidden : dim<16> {};
struct out : dim<4> {};

struct pods : axis<2> {};
struct rows : axis<2> {};
struct cols : axis<2> {};
struct planes : axis<2> {};
struct grid : mesh<pods, rows, cols> {};

struct replicated : layout<grid> {};
struct mixed : layout<grid, split<batch, pods, rows>, split<hidden, cols>> {};
struct other_way : layout<grid, split<hidden, cols>, split<batch, rows, pods>> {};

// a layout says for each dimension over which axes it is split
static_assert(Layout<mixed> && is_legal<mixed::rules_verdict> && std::same_as<mixed::mesh_type, grid>);
static_assert(std::same_as<axes_of<mixed, hidden>, axes<cols>>);

// several axes in the order in which the rule names them: the first is outermost
static_assert(std::same_as<axes_of<mixed, batch>, axes<pods, rows>>);
static_assert(std::same_as<axes_of<other_way, batch>, axes<rows, pods>>);

// what has no rule is whole
static_assert(std::same_as<axes_of<mixed, out>, axes<>> && std::same_as<axes_of<replicated, batch>, axes<>>);

// the order of the rules means nothing
static_assert(std::same_as<axes_of<other_way, hidden>, axes_of<mixed, hidden>>);

// a layout may have the name of a member of the library's
namespace named_as_members {

struct rules : layout<grid, split<batch, rows>> {};
struct pads : layout<grid, padded<hidden, cols>> {};
static_assert(Layout<rules> && Layout<dry<rules>> && Layout<pads>);
static_assert(std::same_as<axes_of<rules, batch>, axes<rows>> &&
              std::same_as<axes_of<dry<rules>, batch>, axes<rows>>);
static_assert(detail::placing<rules, batch>.parts == rows::size && detail::placing<pads, hidden>.pads);

}  // namespace named_as_members

// one axis may split two dimensions, as long as no tensor has both
struct clash : layout<grid, split<batch, rows>, split<hidden, rows>> {};
static_assert(is_legal<clash::rules_verdict>);

// a rule may say that a dimension is whole
struct said_so : layout<grid, split<batch>> {};
static_assert(is_legal<said_so::rules_verdict> && std::same_as<axes_of<said_so, batch>, axes<>>);

// a layout is a Hana map
static_assert(hana::length(mixed::rules) == hana::size_c<2>);
static_assert(decltype(mixed::rules[hana::type_c<hidden>] == hana::type_c<axes<cols>>)::value);
static_assert(!decltype(hana::contains(mixed::rules, hana::type_c<out>))::value);

// rules that say nothing, or two things, are objected to
struct stray : layout<grid, split<hidden, cols>, split<batch, planes>> {};
static_assert(std::same_as<stray::rules_verdict, axis_is_not_in_mesh<planes, batch, grid>>);
struct twice : layout<grid, split<batch, rows>, split<hidden, cols>, split<batch, cols>> {};
static_assert(std::same_as<twice::rules_verdict, two_rules_for_dim<batch>>);
struct stutter : layout<grid, split<hidden, cols>, split<batch, rows, pods, rows>> {};
static_assert(std::same_as<stutter::rules_verdict, axis_splits_dim_twice<rows, batch>>);

// two rules for one dimension come first, then the rules one after the other
struct many : layout<grid, split<batch, planes>, split<hidden, rows, rows>, split<hidden, cols>> {};
static_assert(std::same_as<many::rules_verdict, two_rules_for_dim<hidden>>);
struct several : layout<grid, split<hidden, rows, rows>, split<batch, planes>> {};
static_assert(std::same_as<several::rules_verdict, axis_splits_dim_twice<rows, hidden>>);

// such a layout has no rules at all
static_assert(Layout<stray> && std::same_as<axes_of<stray, hidden>, axes<>>);

// a dry layout has the rules of the layout, and plans can't tell them apart
static_assert(Layout<dry<mixed>> && is_dry<dry<mixed>> && !is_dry<mixed>);
static_assert(std::same_as<actual<dry<mixed>>, mixed> && std::same_as<actual<mixed>, mixed>);
static_assert(std::same_as<axes_of<dry<mixed>, batch>, axes<pods, rows>>);
struct by_cols : layout<grid, split<batch, cols>> {};
static_assert(std::same_as<layout_beside<mixed, by_cols>, by_cols> &&
              std::same_as<layout_beside<dry<mixed>, by_cols>, dry<by_cols>>);
static_assert(std::same_as<layout_beside<mixed, dry<by_cols>>, by_cols> &&
              std::same_as<layout_beside<dry<mixed>, dry<by_cols>>, dry<by_cols>>);
static_assert(std::same_as<dry<stray>::rules_verdict, stray::rules_verdict>);

// a dimension, a mesh and a number are no layouts
static_assert(!Layout<batch> && !Layout<grid> && !Layout<int>);

}  // namespace
