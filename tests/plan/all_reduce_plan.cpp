// If it compiles, it passes.
#include <meshtf/plan/all_reduce_plan.hpp>

namespace {

using namespace meshtf;

struct cols : axis<2> {};
struct rows : axis<4> {};
struct nodes : axis<3, link::between_nodes> {};
struct board : mesh<cols, rows> {};
struct cluster : mesh<cols, rows, nodes> {};

constexpr axis_set over_cols  = 0b001;
constexpr axis_set over_rows  = 0b010;
constexpr axis_set over_nodes = 0b100;

constexpr bool is(all_reduce_call const& c, collective kind, extent count, axis_set over) {
  return c.kind == kind && c.count == count && c.over == over;
}

// without axes nothing is called, and a short array goes in one call
static_assert(plan_all_reduce<board>(reduction::sum, 8, element::float32, 0).count == 0);
constexpr auto brief = plan_all_reduce<board>(reduction::sum, 8, element::float32, over_rows);
static_assert(brief.count == 1 && is(brief.call[0], collective::all_reduce, 8, over_rows));

// a long one is scattered and gathered, if it has a part for each process
constexpr extent many = 1 << 21;
constexpr auto halves = plan_all_reduce<board>(reduction::sum, many, element::float32, over_cols | over_rows);
static_assert(halves.count == 2 &&
              is(halves.call[0], collective::reduce_scatter, many / 8, over_cols | over_rows) &&
              is(halves.call[1], collective::all_gather, many / 8, over_cols | over_rows));
constexpr auto odd = plan_all_reduce<board>(reduction::sum, many + 1, element::float32, over_rows);
static_assert(odd.count == 1 && odd.call[0].count == many + 1);

// over several nodes the parts of a node are added up first, and only these travel between nodes
constexpr extent some = 1 << 16;
constexpr auto by_node =
    plan_all_reduce<cluster>(reduction::sum, some, element::float32, over_cols | over_rows | over_nodes);
static_assert(by_node.count == 3 &&
              is(by_node.call[0], collective::reduce_scatter, some / 8, over_cols | over_rows) &&
              is(by_node.call[1], collective::all_reduce, some / 8, over_nodes) &&
              is(by_node.call[2], collective::all_gather, some / 8, over_cols | over_rows));

// between nodes, too, what is long goes in two halves
constexpr extent vast = 3 * (1 << 24);
constexpr auto levels =
    plan_all_reduce<cluster>(reduction::sum, vast, element::float32, over_cols | over_rows | over_nodes);
static_assert(levels.count == 4 && is(levels.call[1], collective::reduce_scatter, vast / 8 / 3, over_nodes) &&
              is(levels.call[2], collective::all_gather, vast / 8 / 3, over_nodes) &&
              levels.call[3].count == vast / 8);

// short sums of bfloat16 travel as float, which one all-reduce does not round; long ones are added pairwise,
// and maxima are exact in any type
constexpr auto short_sum = plan_all_reduce<board>(reduction::sum, 8, element::bfloat16, over_rows);
static_assert(short_sum.count == 1 && is(short_sum.call[0], collective::all_reduce, 8, over_rows) &&
              short_sum.call[0].type == element::float32);
constexpr auto long_sum =
    plan_all_reduce<board>(reduction::sum, many, element::bfloat16, over_cols | over_rows);
static_assert(long_sum.count == 2 && long_sum.call[0].kind == collective::reduce_scatter &&
              long_sum.call[0].type == element::bfloat16 && long_sum.call[1].kind == collective::all_gather &&
              long_sum.call[1].type == element::bfloat16);
constexpr auto peak = plan_all_reduce<board>(reduction::max, 8, element::bfloat16, over_rows);
static_assert(peak.count == 1 && peak.call[0].type == element::bfloat16 &&
              brief.call[0].type == element::float32);
constexpr auto by_nodes =
    plan_all_reduce<cluster>(reduction::sum, some, element::bfloat16, over_cols | over_rows | over_nodes);
static_assert(by_nodes.count == 3 && by_nodes.call[0].type == element::bfloat16 &&
              by_nodes.call[1].type == element::float32 && by_nodes.call[2].type == element::bfloat16);
static_assert(exchange_scratch(1000, element::float32) == 1000 &&
              exchange_scratch(1000, element::bfloat16) == 3000);

}  // namespace
