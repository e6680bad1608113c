// One dimension as several: which of the parts its axes go to, and where that can't be.
#include <meshtf/plan/reshape_plan.hpp>

using namespace meshtf;

struct batch : dim<6>  {};
struct model : dim<24> {};
struct heads : dim<4>  {};
struct key   : dim<6>  {};
struct pair  : dim<2>  {};
struct inner : dim<2>  {};
struct twelve : dim<12> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct trio : axis<3> {};
struct lone : axis<1> {};
struct grid : mesh<rows, cols, trio, lone> {};

constexpr std::array<extent, 4> sizes{2, 4, 3, 1};

/// The parts of sizes `of` after `whole` is seen as them; nothing if it can't be.
template<std::size_t N>
constexpr std::array<placed, N> seen_as(std::array<extent, N> of, placed const& whole) {
  std::array<placed, N> parts{};
  for (std::size_t i = 0; i < N; ++i) parts[i].size = of[i];
  if (!distribute(whole, parts, sizes)) return {};
  return parts;
}
constexpr bool is(placed const& p, extent size, extent parts, axis_list over) { return p == placed{size, parts, over}; }
template<std::size_t N>
constexpr bool impossible(std::array<placed, N> const& parts) {
  return parts == std::array<placed, N>{};
}
using sizes_of = std::array<extent, 2>;

// What is whole stays whole.
constexpr auto unsplit = seen_as(sizes_of{4, 6}, {.size = 24});
static_assert(is(unsplit[0], 4, 1, {}) && is(unsplit[1], 6, 1, {}));

// An axis goes to the outermost part: two processes have two heads each.
constexpr auto outermost = seen_as(sizes_of{4, 6}, {.size = 24, .parts = 2, .over = {{0}, 1}});
static_assert(is(outermost[0], 4, 2, {{0}, 1}) && is(outermost[1], 6, 1, {}));

// A second axis goes there, too, while it divides what is left.
constexpr auto both = seen_as(sizes_of{8, 3}, {.size = 24, .parts = 8, .over = {{1, 0}, 2}});
static_assert(is(both[0], 8, 8, {{1, 0}, 2}) && is(both[1], 3, 1, {}));

// Once that part is split to single elements, the rest goes to the next.
constexpr auto next = seen_as(sizes_of{4, 6}, {.size = 24, .parts = 12, .over = {{1, 2}, 2}});
static_assert(is(next[0], 4, 4, {{1}, 1}) && is(next[1], 6, 3, {{2}, 1}));

// An axis that does not divide what is left of a part would cut across it.
static_assert(impossible(seen_as(sizes_of{4, 6}, {.size = 24, .parts = 3, .over = {{2}, 1}})));
static_assert(impossible(seen_as(sizes_of{4, 6}, {.size = 24, .parts = 8, .over = {{0, 1}, 2}})));
static_assert(impossible(seen_as(sizes_of{6, 4}, {.size = 24, .parts = 4, .over = {{1}, 1}})));

// Axes of one process fit everywhere, even where no part is left to split.
constexpr auto trivial = seen_as(sizes_of{4, 2}, {.size = 8, .parts = 8, .over = {{1, 0, 3}, 3}});
static_assert(trivial[0].parts == 4 && trivial[1].parts == 2);
constexpr auto single = seen_as(std::array<extent, 1>{1}, {.size = 1, .parts = 1, .over = {{3}, 1}});
static_assert(single[0].size == 1 && single[0].parts == 1);

// The verdict: sizes multiply, the result has a place, and the split falls between parts.
struct by_heads : layout<grid, split<model, cols>, split<heads, cols>> {};
struct by_model : layout<grid, split<model, trio>> {};
struct clash    : layout<grid, split<batch, rows>, split<key, rows>> {};
using parts = shape<heads, key>;
using seen  = shape<batch, heads, key>;
static_assert(is_legal<reshape_plan<by_heads, seen, model, parts>::verdict>);
static_assert(std::same_as<reshape_plan<by_heads, shape<batch, heads, pair>, model, shape<heads, pair>>::verdict,
                           parts_do_not_multiply_to_dim<model, shape<heads, pair>>>);
static_assert(std::same_as<reshape_plan<by_model, seen, model, parts>::verdict, split_runs_across_parts<model, parts>>);
static_assert(std::same_as<reshape_plan<clash, seen, model, parts>::verdict, one_axis_splits_two_dims<rows, batch, key>>);
static_assert(is_legal<reshape_plan<by_model, shape<twelve, inner>, model, shape<twelve, inner>>::verdict>);

// Where the layout splits the parts as the whole is split, nothing moves: both placements are one.
static_assert(reshape_plan<by_heads, seen, model, parts>::as_whole == reshape_plan<by_heads, seen, model, parts>::as_parts);
static_assert(plan_reshard(reshape_plan<by_heads, seen, model, parts>::as_whole, reshape_plan<by_heads, seen, model, parts>::as_parts, 0, sizes).count == 0);

// Where it splits only the whole, the parts as the whole is split are not as the layout places them, and what is beside them is the same.
struct only_model : layout<grid, split<model, cols>, split<batch, rows>> {};
using gathers = reshape_plan<only_model, seen, model, parts>;
static_assert(is_legal<gathers::verdict> && gathers::as_whole[0] == gathers::as_parts[0]);
static_assert(is(gathers::as_whole[1], 4, 4, {{1}, 1}) && is(gathers::as_parts[1], 4, 1, {}));

// Three parts are as good as two.
struct fine : layout<grid, split<model, cols>, split<pair, rows>> {};
using three = reshape_plan<only_model, shape<pair, inner, key>, model, shape<pair, inner, key>>;
static_assert(std::same_as<three::verdict, split_runs_across_parts<model, shape<pair, inner, key>>>);
using nested = reshape_plan<fine, shape<heads, pair, trio_of>, model, shape<heads, pair, trio_of>>;
