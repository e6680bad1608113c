// If it compiles, it passes.
#include <meshtf/plan/nest.hpp>

namespace {

using namespace meshtf;

constexpr dim_list dims(std::initializer_list<int> numbers) {
  dim_list list;
  for (int n : numbers) list.push_back(n);
  return list;
}

// loops of the given extents, and arrays by the numbers of theirs
using extents = std::initializer_list<extent>;
constexpr nest_steps walk(extents loops, std::initializer_list<dim_list> operands) {
  return plan_nest(std::span{loops.begin(), loops.size()}, std::span{operands.begin(), operands.size()});
}

constexpr std::array<extent, 3> box{8, 3, 5};

// strides of a row-major array; it stands still along what it lacks
static_assert(strides_of(dims({0, 1, 2}), box)[0] == 15 && strides_of(dims({0, 1, 2}), box)[2] == 1);
static_assert(strides_of(dims({2, 0}), box)[2] == 8 && strides_of(dims({2, 0}), box)[0] == 1 &&
              strides_of(dims({2, 0}), box)[1] == 0);

// arrays of one order are one loop, whatever their rank
constexpr auto alike = walk({8, 3, 5}, {dims({0, 1, 2}), dims({0, 1, 2}), dims({0, 1, 2})});
static_assert(alike.rank == 1 && alike.size[0] == 120 && alike.iterations == 120 && alike.results == 120 &&
              alike.operands == 3 && !alike.reduces);
static_assert(alike.stride[0][0] == 1 && alike.stride[2][0] == 1);

// loops of one iteration are none
static_assert(walk({8, 3, 1}, {dims({0, 2, 1}), dims({0, 1, 2})}).rank == 1 &&
              walk({1}, {dims({0}), dims({0})}).rank == 0);

// a row added to each row: two loops, in the second operand the outer one stands still
constexpr auto row = walk({8, 3, 5}, {dims({0, 1, 2}), dims({1, 2}), dims({0, 1, 2})});
static_assert(row.rank == 2 && row.size[0] == 8 && row.size[1] == 15 && row.stride[1][0] == 0 &&
              row.stride[1][1] == 1 && !row.reduces);

// a sum over inner dimensions: the result stands still in the inner loop
constexpr auto inner = walk({8, 3, 5}, {dims({0, 1, 2}), dims({0})});
static_assert(inner.rank == 2 && inner.size[1] == 15 && inner.stride[1][1] == 0 && inner.reduces &&
              inner.iterations == 120 && inner.results == 8);

// a sum over outer dimensions adds whole rows: it too walks in the order of the operand
constexpr auto outer = walk({8, 3, 5}, {dims({0, 1, 2}), dims({1, 2})});
static_assert(outer.rank == 2 && outer.size[0] == 8 && outer.size[1] == 15 && outer.stride[1][0] == 0 &&
              outer.stride[1][1] == 1 && outer.reduces);

// a sum over one iteration reduces nothing
static_assert(!walk({8, 1}, {dims({0, 1}), dims({0})}).reduces);

// a transpose walks in the order of the result
constexpr auto turned = walk({8, 5}, {dims({0, 1}), dims({1, 0})});
static_assert(turned.rank == 2 && turned.size[0] == 5 && turned.size[1] == 8 && turned.stride[0][0] == 1 &&
              turned.stride[0][1] == 5 && turned.stride[1][0] == 8 && turned.stride[1][1] == 1);

// numbers: no loops, one iteration
constexpr auto numbers = walk({}, {dims({}), dims({})});
static_assert(numbers.rank == 0 && numbers.iterations == 1 && numbers.results == 1);

}  // namespace
