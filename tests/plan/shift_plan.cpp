// If it compiles, it passes.
#include <meshtf/plan/shift_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<12> {};
struct model : dim<16> {};
struct some : up_to<4> {};

struct rows : axis<2> {};
struct cols : axis<3> {};
struct solo : axis<1> {};
struct grid : mesh<rows, solo, cols> {};

struct by_length : layout<grid, split<batch, rows>, split<length, solo, cols>> {};
struct by_both : layout<grid, split<length, cols, rows>> {};
struct unequal : layout<grid, padded<batch, cols>, split<some, rows>> {};
struct clash : layout<grid, split<batch, rows>, split<model, rows>> {};

using x = shape<batch, length, model>;

static_assert(is_legal<shift_verdict<by_length, x, length>>);
static_assert(is_legal<shift_verdict<by_both, x, length>>);
static_assert(is_legal<shift_verdict<by_length, x, model>>);
static_assert(is_legal<shift_verdict<unequal, x, batch>> &&
              is_legal<shift_verdict<unequal, shape<some>, some>>);
static_assert(is_legal<roll_verdict<by_length, x, length>> &&
              is_legal<roll_verdict<by_length, shape<some>, some>>);
static_assert(std::same_as<roll_verdict<unequal, x, batch>, rolled_parts_differ<batch, axes<cols>>>);
static_assert(std::same_as<roll_verdict<unequal, shape<some>, some>, rolled_parts_differ<some, axes<rows>>>);
static_assert(std::same_as<roll_verdict<by_length, shape<batch>, length>, dim_is_not_in_tensor<length>>);
static_assert(std::same_as<shift_verdict<by_length, shape<batch>, length>, dim_is_not_in_tensor<length>>);
static_assert(std::same_as<shift_verdict<clash, x, length>, one_axis_splits_two_dims<rows, batch, model>>);

// a whole dimension sends nothing; of a split one, a row is what a process holds of the others, and axes of
// size 1 join nobody
static_assert(!shift_plan<by_length, x, model>::exchanges && shift_plan<by_length, x, length>::exchanges);
static_assert(shift_plan<by_length, x, length>::row == 4 * 16);
static_assert(shift_plan<by_length, x, length>::over.count == 1 &&
              shift_plan<by_length, x, length>::over[0] == 2);
static_assert(shift_plan<by_both, x, length>::over.count == 2 &&
              shift_plan<by_both, x, length>::over[0] == 2);

// of 4 rows, by 1: the last leaves, one arrives in front
constexpr auto forwards = shifted_rows::plan(1, 4);
static_assert(forwards.stay == 3 && forwards.from == 0 && forwards.to == 1 && forwards.leave == 3 &&
              forwards.arrive == 0);
static_assert(forwards.stay_by == 0 && forwards.leave_by == 1);
constexpr auto back = shifted_rows::plan(-3, 4);
static_assert(back.stay == 1 && back.from == 3 && back.to == 0 && back.leave == 0 && back.arrive == 1 &&
              back.further == 3 && back.leave_by == -1);
constexpr auto all = shifted_rows::plan(4, 4);
static_assert(all.stay == 0 && all.further == 4 && all.leave == 0 && all.arrive == 0 && all.leave_by == 1);
// by 9: three go two parts on, the last goes three
constexpr auto far = shifted_rows::plan(9, 4);
static_assert(far.stay == 3 && far.to == 1 && far.stay_by == 2 && far.further == 1 && far.leave == 3 &&
              far.leave_by == 3);
constexpr auto far_back = shifted_rows::plan(-8, 4);
static_assert(far_back.stay == 0 && far_back.further == 4 && far_back.leave_by == -2);
static_assert(shifted_rows::plan(0, 4).stay == 4 && shifted_rows::plan(0, 4).further == 0 &&
              shifted_rows::plan(0, 4).stay_by == 0);

static_assert(shortest_roll(7, 12) == -5 && shortest_roll(-7, 12) == 5 && shortest_roll(6, 12) == 6 &&
              shortest_roll(25, 12) == 1);

}  // namespace
