// Loop nests: which loops there are, in which order, and how each array moves along them.
#include <meshtf/plan/nest.hpp>

using namespace meshtf;

// Four loops of 2, 3, 4 and 5 turns; arrays name theirs by number.
constexpr std::array<extent, 4> loops{2, 3, 4, 5};
constexpr dim_list nobody{}, all{{0, 1, 2, 3}, 4}, first_three{{0, 1, 2}, 3}, last{{3}, 1}, second{{1}, 1}, middle{{1, 2}, 2}, turned{{3, 0}, 2}, ends{{0, 3}, 2};

template<class... Of>
constexpr nest_steps nest(Of const&... arrays) {
  return plan_nest(loops, std::array{arrays...});
}

// An array is row-major in its own dimensions, and stands still along those it lacks.
static_assert(strides_of(all, loops)[0] == 60 && strides_of(all, loops)[1] == 20 && strides_of(all, loops)[2] == 5 && strides_of(all, loops)[3] == 1);
static_assert(strides_of(turned, loops)[3] == 2 && strides_of(turned, loops)[0] == 1 && strides_of(turned, loops)[1] == 0);
static_assert(strides_of(nobody, loops) == std::array<extent, max_rank>{});

// Equal arrays are one loop over all elements.
constexpr auto same = nest(all, all, all);
static_assert(same.rank == 1 && same.size[0] == 120 && same.operands == 3 && same.turns == 120 && same.results == 120 && !same.reduces);
static_assert(same.stride[0][0] == 1 && same.stride[1][0] == 1 && same.stride[2][0] == 1);

// A row added to a matrix: the outer loops are one, along which the row stands still.
constexpr auto broadcast_row = nest(all, last, all);
static_assert(broadcast_row.rank == 2 && broadcast_row.size[0] == 24 && broadcast_row.size[1] == 5);
static_assert(broadcast_row.stride[0][0] == 5 && broadcast_row.stride[1][0] == 0 && broadcast_row.stride[1][1] == 1 && broadcast_row.stride[2][0] == 5);

// What is broadcast in the middle keeps three loops.
static_assert(nest(all, second, all).rank == 3 && nest(all, middle, all).rank == 3 && nest(all, middle, all).size[1] == 12);

// A sum over the last dimension: the result stands still in the inner loop.
constexpr auto row_sums = nest(all, first_three);
static_assert(row_sums.reduces && row_sums.turns == 120 && row_sums.results == 24 && row_sums.rank == 2);
static_assert(row_sums.stride[1][0] == 1 && row_sums.stride[1][1] == 0);

// A sum of everything, and a sum over the outer dimensions, which adds row to row.
static_assert(nest(all, nobody).rank == 1 && nest(all, nobody).results == 1 && nest(all, nobody).reduces);
static_assert(nest(all, last).rank == 2 && nest(all, last).size[0] == 24 && nest(all, last).stride[1][0] == 0 && nest(all, last).stride[1][1] == 1);

// Dimensions that the largest array lacks are the outermost loops: it is walked through once for each of their turns.
constexpr auto outer = nest(first_three, last, first_three);
static_assert(outer.rank == 2 && outer.size[0] == 5 && outer.size[1] == 24);
static_assert(outer.stride[0][0] == 0 && outer.stride[1][0] == 1 && outer.reduces);

// A transpose has two loops, in the order of its larger operand: the first of two that are equal.
constexpr auto transpose = nest(ends, turned);
static_assert(transpose.rank == 3 - 1 && transpose.size[0] == 2 && transpose.size[1] == 5);
static_assert(transpose.stride[0][0] == 5 && transpose.stride[0][1] == 1 && transpose.stride[1][0] == 1 && transpose.stride[1][1] == 2);

// Loops of one turn are none.
constexpr std::array<extent, 3> thin{1, 7, 1};
constexpr auto line = plan_nest(thin, std::array{dim_list{{0, 1, 2}, 3}, dim_list{{2, 1}, 2}});
static_assert(line.rank == 1 && line.size[0] == 7 && line.stride[0][0] == 1 && line.stride[1][0] == 1 && !line.reduces);

// Nor is there one for a number, which is computed once.
constexpr auto number = plan_nest({}, std::array{nobody, nobody});
static_assert(number.rank == 0 && number.turns == 1 && number.results == 1 && !number.reduces);
