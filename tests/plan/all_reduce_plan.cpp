// If it compiles, it passes.
#include <meshtf/plan/all_reduce_plan.hpp>

namespace {

using namespace meshtf;

struct cols : axis<2> {};
struct rows : axis<4> {};
struct nodes : axis<3, link::between_nodes> {};
struct board : mesh<cols, rows> {};
struct cluster : mesh<cols, rows, nodes> {};

constexpr axis_set over_cols = 0b001, over_rows = 0b010, over_nodes = 0b100;

constexpr bool is(all_reduce_call const& c, collective kind, extent count, axis_set over) {
  return c.kind == kind && c.count == count && c.over == over;
}

// without axes nothing is called, and a short array goes in one call
static_assert(plan_all_reduce<board>(8, 4, 0).count == 0);
constexpr auto brief = plan_all_reduce<board>(8, 4, over_rows);
static_assert(brief.count == 1 && is(brief.call[0], collective::all_reduce, 8, over_rows));

// a long one is scattered and gathered, if it has a part for each process
constexpr extent many = 1 << 21;
constexpr auto halves = plan_all_reduce<board>(many, 4, over_cols | over_rows);
static_assert(halves.count == 2 && is(halves.call[0], collective::reduce_scatter, many / 8, over_cols | over_rows) &&
              is(halves.call[1], collective::all_gather, many / 8, over_cols | over_rows));
constexpr auto odd = plan_all_reduce<board>(many + 1, 4, over_rows);
static_assert(odd.count == 1 && odd.call[0].count == many + 1);

// over several nodes the parts of a node are added up first, and only these travel between nodes
constexpr extent some  = 1 << 16;
constexpr auto by_node = plan_all_reduce<cluster>(some, 4, over_cols | over_rows | over_nodes);
static_assert(by_node.count == 3 && is(by_node.call[0], collective::reduce_scatter, some / 8, over_cols | over_rows) &&
              is(by_node.call[1], collective::all_reduce, some / 8, over_nodes) &&
              is(by_node.call[2], collective::all_gather, some / 8, over_cols | over_rows));

// between nodes, too, what is long goes in two halves
constexpr extent vast = 3 * (1 << 24);
constexpr auto levels = plan_all_reduce<cluster>(vast, 4, over_cols | over_rows | over_nodes);
static_assert(levels.count == 4 && is(levels.call[1], collective::reduce_scatter, vast / 8 / 3, over_nodes) &&
              is(levels.call[2], collective::all_gather, vast / 8 / 3, over_nodes) && levels.call[3].count == vast / 8);

}  // namespace
