// If it compiles, it passes: moves of dimensions whose parts are unequal. Whole blocks move, and copies add
// or remove padding.
#include <meshtf/plan/reshard/reshape_plan.hpp>
#include <meshtf/plan/reshard/reshard_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<10> {};
struct out : dim<4> {};
struct pairs : dim<5> {};
struct two : dim<2> {};

struct rows : axis<2> {};
struct cols : axis<4> {};
struct lanes : axis<2> {};
struct three : axis<3> {};
struct grid : mesh<rows, cols, lanes, three> {};

struct whole : layout<grid> {};
struct by_cols : layout<grid, padded<batch, cols>> {};
struct by_rows : layout<grid, padded<batch, rows>> {};
struct by_two : layout<grid, padded<batch, rows, lanes>> {};
struct by_three : layout<grid, padded<batch, three>, padded<pairs, three>> {};
struct within : layout<grid, padded<batch, cols>, padded<pairs, cols>> {};

using S = shape<batch, out>;  // 10 x 4

template<class From, class To>
constexpr reshard_steps const& steps = reshard_plan<From, To, S>::steps;

constexpr bool is(reshard_move const& m, transfer_kind what, extent send, extent result) {
  return m.kind == what && m.send == send && m.result == result;
}
constexpr bool has(reshard_steps const& s, transfer_kind what) {
  for (reshard_move const& m : s)
    if (m.kind == what) return true;
  return false;
}

static_assert(steps<by_cols, by_cols>.count == 0);

// to blocks of 3: the copy has room for all four of them, then each process takes its own
static_assert(steps<whole, by_cols>.count == 2);
static_assert(is(steps<whole, by_cols>.moves[0], transfer_kind::slice, 10 * 4, 12 * 4) &&
              steps<whole, by_cols>.moves[0].over == 0);
static_assert(is(steps<whole, by_cols>.moves[1], transfer_kind::slice, 12 * 4, 3 * 4));

// and back: the blocks with their padding, then the ten elements
static_assert(steps<by_cols, whole>.count == 2);
static_assert(is(steps<by_cols, whole>.moves[0], transfer_kind::all_gather, 3 * 4, 12 * 4));
static_assert(is(steps<by_cols, whole>.moves[1], transfer_kind::slice, 12 * 4, 10 * 4));

// the copy is of the ten elements that are allocated in both
static_assert(steps<by_cols, whole>.moves[1].pack.iterations == 10 * 4 &&
              steps<whole, by_cols>.moves[0].pack.iterations == 10 * 4);

// blocks of one size change their owners without becoming whole
static_assert(!has(steps<by_cols, by_two>, transfer_kind::all_gather) && steps<by_cols, by_two>.count > 0);

// blocks of 5 and of 3 clash: the dimension is whole in between
static_assert(is(steps<by_rows, by_cols>.moves[0], transfer_kind::all_gather, 5 * 4, 10 * 4));
static_assert(steps<by_rows, by_cols>.count == 3 &&
              is(steps<by_rows, by_cols>.moves[2], transfer_kind::slice, 12 * 4, 3 * 4));
static_assert(steps<by_rows, by_cols>.shard == 5 * 4 && steps<by_cols, by_rows>.shard == 3 * 4);

// 10 = 5 x 2 over 3 is cut after 4 elements, between two pairs, but over 4 after 3, within a pair
template<class L>
using parts = reshape_plan<L, shape<pairs, two>, batch, shape<pairs, two>>;
static_assert(is_legal<parts<by_three>::verdict> && parts<by_three>::as_whole == parts<by_three>::as_parts);
static_assert(std::same_as<parts<within>::verdict,
                           split_runs_across_parts<batch, shape<pairs, two>, split_only<batch, axes<>>>>);

}  // namespace
