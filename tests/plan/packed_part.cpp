// Where the part of each process lies in a message of several arrays, and which arrays share one.
#include <meshtf/core.hpp>
#include <meshtf/plan/packed_part.hpp>

namespace {

using namespace meshtf;

struct length : dim<6> {};
struct model : dim<10> {};
struct hidden : dim<8> {};
struct rows : axis<4> {};
struct cols : axis<2> {};
struct grid : mesh<rows, cols> {};

struct whole : layout<grid> {};
struct by_cols : layout<grid, split<hidden, cols>> {};
struct first : layout<grid, split<hidden, rows>> {};
struct uneven : layout<grid, padded<model, rows>> {};
struct finer : layout<grid, split<hidden, cols>, padded<model, rows>> {};
struct both : layout<grid, split<hidden, rows, cols>> {};
struct crosswise : layout<grid, split<hidden, cols, rows>> {};
struct of_two : layout<grid, split<hidden, rows>, split<length, cols>> {};

template<class From, class To, class... D>
constexpr packed_part part_of = packed_part_of(placed_dims<From, shape<D...>>, placed_dims<To, shape<D...>>);

constexpr packed_part equal = part_of<whole, first, length, hidden, model>;
static_assert(equal.outer == 6 && equal.size == 8 && equal.part == 2 && equal.inner == 10);
static_assert(equal.count == 4 && equal.over == 1 && equal.shard() == 6 * 2 * 10 && !equal.is_padded());

// ten in parts of three: the last has one, and two of padding
constexpr packed_part padded_one = part_of<whole, uneven, model, length>;
static_assert(padded_one.shard() == 3 * 6 && padded_one.is_padded());
static_assert(padded_one.local_extent(2) == 3 && padded_one.local_extent(3) == 1);
// five in parts of two: the last has padding alone
static_assert(packed_part{.size = 5, .part = 2, .count = 4}.local_extent(2) == 1);
static_assert(packed_part{.size = 5, .part = 2, .count = 4}.local_extent(3) == 0);

// a dimension that the layout splits anyway counts as it lies in a process
static_assert(part_of<by_cols, finer, model, hidden>.inner == 4);
static_assert(part_of<by_cols, finer, model, hidden>.over == 1);

// over two axes in the order of ranks; in another order it goes alone
static_assert(part_of<whole, both, hidden>.count == 8 && part_of<whole, both, hidden>.over == 3);
static_assert(part_of<whole, crosswise, hidden>.count == 1);
// what is not cut, is cut along two dimensions, or is cut otherwise than before
static_assert(part_of<whole, first, model>.count == 1);
static_assert(part_of<whole, of_two, length, hidden>.count == 1);
static_assert(part_of<first, by_cols, hidden>.count == 1);

/// Whether each element of the array is in one piece of one part, and each part holds its own.
constexpr bool covers(packed_part const& p) {
  extent covered = 0;
  bool fits      = true;
  for (extent r = 0; r < p.count; ++r)
    p.for_each_piece(r, [&](extent in_part, extent in_array, extent n) {
      covered += n;
      fits = fits && in_part + n <= p.shard() && in_array + n <= p.outer * p.size * p.inner;
    });
  return fits && covered == p.outer * p.size * p.inner;
}
static_assert(covers(equal) && covers(padded_one));
static_assert(covers({.outer = 2, .size = 5, .part = 2, .inner = 3, .count = 4}));

/// Where the first piece of a part begins in the array.
constexpr extent first_of(packed_part const& p, extent rank) {
  extent found = -1;
  p.for_each_piece(rank, [&found](extent, extent in_array, extent) {
    if (found < 0) found = in_array;
  });
  return found;
}
static_assert(first_of(equal, 0) == 0 && first_of(equal, 3) == 3 * 2 * 10);

// a long part is sent alone, and so is what is not cut
static_assert(is_packed(packed_part{.size = 4 * largest_packed / 4, .part = largest_packed / 4, .count = 4},
                        4));
static_assert(!is_packed(packed_part{.size = 4 * largest_packed, .part = largest_packed, .count = 4}, 4));
static_assert(!is_packed(packed_part{.size = 4, .part = 4, .count = 1}, 4));

}  // namespace
