// If it compiles, it passes: where the elements of flip, roll, shift and pad come from, and which dimensions
// they may move along.
#include <meshtf/plan/displace_plan.hpp>

namespace {

using namespace meshtf;

struct batch : dim<8> {};
struct length : dim<6> {};
struct five : dim<5> {};
struct longer : dim<10> {};
struct model : dim<16> {};
struct twelve : dim<12> {};
struct some : up_to<4> {};

struct rows : axis<2> {};
struct solo : axis<1> {};
struct cols : axis<3> {};
struct grid : mesh<rows, solo, cols> {};

struct by_batch : layout<grid, split<batch, rows>, split<length, solo>> {};
struct by_length : layout<grid, split<length, rows>> {};
struct by_longer : layout<grid, split<longer, rows>> {};
struct unequal : layout<grid, padded<batch, cols>, split<some, rows>> {};
struct by_all : layout<grid, split<twelve, cols, rows>> {};
struct corresponding : layout<grid, padded<length, cols>, padded<five, cols>> {};
struct clash : layout<grid, split<batch, rows>, split<longer, rows>> {};

using x = shape<batch, length, model>;

static_assert(is_legal<flip_verdict<by_batch, x, length>>);  // an axis of size 1 splits nothing
// equal parts change places
static_assert(is_legal<flip_verdict<by_batch, x, batch>>);
static_assert(std::same_as<flip_verdict<unequal, x, batch>, displaced_dim_is_split<batch, axes<cols>>>);
static_assert(
    std::same_as<flip_verdict<unequal, shape<some>, some>, displaced_dim_is_split<some, axes<rows>>>);
static_assert(std::same_as<flip_verdict<by_batch, x, longer>, dim_is_not_in_tensor<longer>>);

// of six parts, each process wants the one with the opposite number
constexpr reshard_move opposite = flip_plan<by_all, shape<twelve, model>, twelve>::exchange;
static_assert(opposite.processes == 6 && opposite.block == 2 * 16 &&
              opposite.over == axis_set_of<grid, axes<rows, cols>>);
static_assert([] {
  // row-major over rows and cols, but parts are numbered with cols outermost
  for (extent rank = 0; rank < 6; ++rank) {
    extent const row    = rank / 3;
    extent const col    = rank % 3;
    extent const wanted = (1 - row) * 3 + 2 - col;
    auto const partners = partners_of(opposite, axis_sizes<grid>, rank);
    if (partners.from != wanted || partners.to != wanted) return false;
  }
  return true;
}());

static_assert(is_legal<pad_verdict<by_batch, x, length, longer>>);
static_assert(is_legal<pad_verdict<by_longer, x, length, longer>>);  // each process keeps its part
static_assert(
    std::same_as<pad_verdict<by_length, x, length, longer>, displaced_dim_is_split<length, axes<rows>>>);
static_assert(is_legal<pad_verdict<corresponding, shape<five, model>, five, length>>);  // by parts of two
static_assert(std::same_as<pad_verdict<by_batch, shape<longer>, longer, length>,
                           padded_dim_is_smaller<length, longer>>);
static_assert(std::same_as<pad_verdict<by_longer, shape<some>, some, longer>, padded_dim_is_counted<some>>);
static_assert(
    std::same_as<pad_verdict<clash, x, length, longer>, one_axis_splits_two_dims<rows, batch, longer>>);

// lines of 6 become lines of 10, in four batches, and 16 elements move together
constexpr displace_steps lines = displace_plan<by_batch, x, length, longer>::lines;
static_assert(lines.outer == 4 && lines.from == 6 && lines.to == 10 && lines.inner == 16);
static_assert(lines.touched() == 4 * 16 * (6 + 10));

/// The index in x of each element of z, or -1.
template<std::size_t Size>
constexpr bool comes_from(displacement const& way, extent from, int const (&wanted)[Size]) {
  constexpr extent to = Size;
  for (extent i = 0; i < to;) {
    auto const run = way.run_at(i, from, to);
    if (run.count < 1 || i + run.count > to) return false;
    for (extent k = 0; k < run.count; ++k, ++i) {
      extent const index = run.first + (way.reversed ? -k : k);
      if (wanted[i] != (run.there ? index : -1)) return false;
    }
  }
  return true;
}

static_assert(comes_from({.offset = 3, .reversed = true}, 4, {3, 2, 1, 0}));
static_assert(comes_from({.offset = -2}, 4, {-1, -1, 0, 1}));
static_assert(comes_from({.offset = 1}, 4, {1, 2, 3, -1}));
static_assert(comes_from({.offset = 9}, 4, {-1, -1, -1, -1}));
static_assert(comes_from({.offset = -1}, 3, {-1, 0, 1, 2, -1}));
static_assert(comes_from({.offset = 1, .wraps = true}, 4, {1, 2, 3, 0}));
static_assert(comes_from({.offset = -1, .wraps = true}, 4, {3, 0, 1, 2}));
static_assert(comes_from({.offset = -9, .wraps = true}, 4, {3, 0, 1, 2}));
static_assert(comes_from({.offset = 1, .reversed = true, .wraps = true}, 4, {1, 0, 3, 2}));
static_assert(comes_from({.offset = 5, .reversed = true}, 4, {-1, -1, 3, 2, 1, 0, -1}));

// a run takes all that can be copied at once
static_assert(displacement{.offset = -2}.run_at(0, 8, 8).count == 2 &&
              displacement{.offset = -2}.run_at(2, 8, 8).count == 6);

// and back again
static_assert(comes_from(displacement{.offset = -2}.back(), 4, {2, 3, -1, -1}));
static_assert(comes_from(displacement{.offset = 3, .reversed = true}.back(), 4, {3, 2, 1, 0}));

}  // namespace
